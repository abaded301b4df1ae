/** A prompt's content blocks as the one text that a turn records and the model reads. */
import type { ContentBlock } from '@agentclientprotocol/sdk';
import { ParamsError } from '../../../shared/params-error.ts';

type Piece = { readonly text: string; readonly joins: 'line' | 'inline' | 'block' };

/** A single text block stays exactly as it is. @throws ParamsError where a block cannot be read as text */
export function promptText(blocks: readonly ContentBlock[]): string {
  const pieces = blocks.map(pieceOf);
  let text = '';
  for (const [at, piece] of pieces.entries()) {
    const before = pieces[at - 1];
    text += before === undefined ? piece.text : `${separator(before, piece)}${piece.text}`;
  }
  if (text.trim() === '') throw new ParamsError('prompt', 'the prompt is empty: it needs text');
  return text;
}

/** Links stand inside a sentence, embedded texts on their own. */
function separator(before: Piece, after: Piece): string {
  if (before.joins === 'block' || after.joins === 'block') return '\n\n';
  return before.joins === 'inline' || after.joins === 'inline' ? '' : '\n';
}

function pieceOf(block: ContentBlock, at: number): Piece {
  switch (block.type) {
    case 'text':
      return { text: block.text, joins: 'line' };
    case 'resource_link':
      return { text: `[${block.title ?? block.name}](${block.uri})`, joins: 'inline' };
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { text: embedded(resource.uri, resource.text), joins: 'block' };
      throw unreadable(at, `binary content (${resource.mimeType ?? 'of unknown type'})`);
    }
    default:
      throw unreadable(at, `content of type ${block.type}`);
  }
}

/** Fenced by more backticks than the text holds, so that nothing in it can close the fence. */
function embedded(uri: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `Attached, ${uri}:\n${fence}\n${text}\n${fence}`;
}

function unreadable(at: number, what: string): ParamsError {
  return new ParamsError(
    `prompt.${at}`,
    `${what} cannot be used here: only text, links and embedded text can`,
  );
}
