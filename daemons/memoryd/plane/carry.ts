/** Summaries rendered for the iteration that comes next: all that it knows of those before it. */

export interface Summary {
  readonly iteration: number;
  readonly headline: string;
  readonly facts: readonly string[];
  readonly narrative: string | null;
}

/** The narrative stands apart: Markdown would else read it as more of the last bullet. */
export function renderSummary({ iteration, headline, facts, narrative }: Summary): string {
  const lines = [
    `### Iteration ${iteration}`,
    headline.trim(),
    ...facts.map((fact) => `- ${indented(fact.trim())}`),
  ];
  const told = narrative?.trim() ?? '';
  return lines.join('\n') + (told === '' ? '' : `\n\n${told}`);
}

/** Further lines of a fact stay inside its bullet. */
function indented(text: string): string {
  return text.replaceAll(/\r\n?|\n/g, '\n  ');
}
