/** loopctl import: conversations from elsewhere become sessions; an export of ours comes back whole. */
import { createReadStream } from 'node:fs';
import { basename, extname } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import type { ImportedSession } from '../../import/imported-session.ts';
import { importKinds, parseImport } from '../../import/parse-import.ts';
import { choiceOption } from '../arguments.ts';
import type { Channel } from '../channel.ts';
import type { Run } from '../command.ts';

interface ImportReply {
  imported?: string[];
  known?: string[];
}

/** Sessions that travel in one message; it must stay below the limit of a line. */
const batchBytesMax = 2 * 1024 * 1024;

export const importFile: Run = async (context, [file = ''], options) => {
  const { from } = choiceOption(options, 'from', ['loopkeep', ...importKinds]);
  if (from === 'loopkeep' || (from === undefined && (await isOwnExport(file)))) {
    const { importExport } = await import('../own-export.ts');
    return importExport(context, file);
  }
  const channel = await context.channel();
  const source = createReadStream(file);
  await opened(source, file);
  const name = basename(file, extname(file));
  const reply = await importAll(channel, parseImport({ kind: from ?? 'auto', source, name }));
  context.out.result(reply, () => `${reply.imported} sessions imported, ${reply.known} were known`);
};

async function importAll(channel: Channel, sessions: AsyncIterable<ImportedSession>) {
  const total = { imported: 0, known: 0 };
  let batch: ImportedSession[] = [];
  let bytes = 0;
  const send = async () => {
    if (batch.length === 0) return;
    const { imported = [], known = [] } = await channel.request<ImportReply>('_loopkeep/import', {
      sessions: batch,
    });
    total.imported += imported.length;
    total.known += known.length;
    batch = [];
    bytes = 0;
  };
  for await (const session of sessions) {
    const size = JSON.stringify(session).length;
    if (bytes + size > batchBytesMax) await send();
    batch.push(session);
    bytes += size;
  }
  await send();
  return total;
}

function opened(source: ReturnType<typeof createReadStream>, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    source.once('open', () => resolve());
    source.once('error', (cause: NodeJS.ErrnoException) =>
      reject(new AppError('rejected', `${file} cannot be read: ${cause.code}`, { details: { file }, cause })),
    );
  });
}

const headBytes = 200;

/** The first line of an export of ours says so. */
async function isOwnExport(file: string): Promise<boolean> {
  const source = createReadStream(file, { end: headBytes });
  await opened(source, file);
  for await (const chunk of source) return (chunk as Buffer).toString().startsWith('{"loopkeep":');
  return false;
}
