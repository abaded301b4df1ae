/** find_tool: which of the tools beyond the core would do a thing, with what they need to be called. */
import { integer, object, text } from '../../../shared/schema.ts';
import type { ToolDefinition } from '../../../shared/protocol/sessions.ts';
import { argumentCheck, tidied } from './arguments.ts';
import { clipLine } from './clip.ts';
import { fullName, type ToolCatalogue } from './catalogue.ts';
import type { Catalogue } from './mcp.ts';
import type { McpTool } from './mcp-connection.ts';
import { rank } from './ranking.ts';
import { parameterNames, signatureLines } from './signature.ts';
import type { Tool } from './tool.ts';

const shownDefault = 5;
const shownMax = 20;
const listedMax = 60;
const timeoutMs = 60_000;
const aboutCharsMax = 300;
const textCharsMax = 6_000;

const parameters = object(
  { query: { ...text(), description: 'What the tool should do.' } },
  { limit: integer(1, shownMax) },
);

interface Candidate {
  readonly name: string;
  readonly description: string;
  readonly words: string;
  readonly tool: McpTool | undefined;
}

/** `core` are the definitions of the tools that are called directly; they are found too, and said to be so. */
export function findTool(catalogue: ToolCatalogue, core: () => readonly ToolDefinition[]): Tool {
  return {
    definition: {
      type: 'function',
      function: {
        name: 'find_tool',
        description:
          'Search the further tools of this device by what they do. Run what you find with call_tool.',
        parameters,
      },
    },
    effects: 'none',
    timeoutMs,
    check: argumentCheck(parameters),
    run: async (args) => {
      const { query, limit = shownDefault } = tidied(args, parameters) as { query: string; limit?: number };
      return { status: 'ok', text: foundText(await catalogue.load(), core(), { query, limit }) };
    },
  };
}

function foundText(
  { tools, failed }: Catalogue,
  core: readonly ToolDefinition[],
  { query, limit }: { query: string; limit: number },
): string {
  const found = rank(query, [...core.map(coreCandidate), ...tools.map(candidateOf)]);
  // Of our own tools only those that fit better than any other: most share a word with most queries.
  const firstFurther = found.findIndex(({ tool }) => tool !== undefined);
  const direct = found.slice(0, firstFurther === -1 ? found.length : firstFurther).map(({ name }) => name);
  const further = found.filter(({ tool }) => tool !== undefined).slice(0, limit);
  const lines: string[] = [];
  if (direct.length > 0)
    lines.push(`Your own tools that fit: ${direct.join(', ')}. Call them directly, not with call_tool.`);
  if (tools.length === 0) {
    lines.push(
      failed.length === 0 ? 'There are no further tools on this device.' : 'No further tool can be used now.',
    );
  } else if (further.length === 0) {
    lines.push(`None of the ${tools.length} further tools matches. There are:`, namesText(tools));
  } else {
    lines.push(`${further.length} of ${tools.length} further tools; run one with call_tool:`);
    for (const { tool } of further) if (tool !== undefined) lines.push('', ...toolLines(tool));
  }
  for (const { server, reason } of failed)
    lines.push('', `The tools of ${server} cannot be used now: ${clipLine(reason, aboutCharsMax)}`);
  return fitting(lines);
}

function toolLines(tool: McpTool): string[] {
  const about = clipLine(tool.description, aboutCharsMax);
  return [
    `${fullName(tool)}: ${about === '' ? '(no description)' : about}`,
    ...signatureLines(tool.inputSchema).map((line) => `  ${line}`),
  ];
}

function namesText(tools: readonly McpTool[]): string {
  const names = tools.slice(0, listedMax).map(fullName).join(', ');
  return tools.length > listedMax ? `${names} and ${tools.length - listedMax} more` : names;
}

function candidateOf(tool: McpTool): Candidate {
  return {
    name: fullName(tool),
    description: tool.description,
    words: parameterNames(tool.inputSchema).join(' '),
    tool,
  };
}

function coreCandidate({ function: { name, description } }: ToolDefinition): Candidate {
  return { name, description, words: '', tool: undefined };
}

/** Whole lines up to the limit. */
function fitting(lines: readonly string[]): string {
  let chars = 0;
  const kept = lines.filter((line) => (chars += line.length + 1) <= textCharsMax);
  if (kept.length < lines.length) kept.push('… (cut: ask for fewer, or more precisely)');
  return kept.join('\n');
}
