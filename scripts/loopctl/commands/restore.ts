/** loopctl restore: a backup in the place of a home, or what can still be read of a damaged store in its place. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { readConfig } from '../../../shared/config.ts';
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { loopdSettings } from '../../../shared/settings.ts';
import { BackupFolder, piecesOf, type Backup } from '../backup-folder.ts';
import type { CommandContext, Options, Run } from '../command.ts';
import { memorydChore } from '../own-memoryd.ts';
import { startProgress } from '../progress.ts';
import { restoreBackup } from '../restore-backup.ts';
import { holderOfLock, holdLoopd, lockFiles, mustBeStopped } from '../stopped-daemons.ts';
import { verifyBackup } from '../verify-backup.ts';

export const restore: Run = async (context, [dir, name], options) => {
  if (options['salvage'] === true) {
    if (dir !== undefined)
      throw new ParamsError('dir', '--salvage works on the store in place: it takes no DIR');
    return await salvage(context, options);
  }
  if (dir === undefined) throw new ParamsError('dir', 'restore takes the folder of backups, or --salvage');
  const { out, home } = context;
  const folder = new BackupFolder(resolve(dir));
  const backup = await folder.read(name);
  await checkWhole(context, folder, backup);
  const told = toldOf(backup);
  if (options['dryRun'] === true) {
    return out.result(
      { dry_run: true, ...told },
      () => `Nothing was changed. This would come back:\n${textOf(told)}`,
    );
  }
  await mustBeStopped(home);
  await mustAgree(
    context,
    options,
    `${textOf(told)}\nIt takes the place of ${home.home}; what is there is kept aside.`,
  );
  const progress = startProgress(out, {
    what: 'restore',
    total: piecesOf(backup.manifest).length,
    unit: 'pieces',
  });
  const logMode = Number.parseInt(loopdConfig(context, options).settings.access.log_mode, 8);
  const lock = await holdLoopd(home);
  try {
    const aside = await restoreBackup({ folder, backup, home, logMode, progress, nowMs: Date.now() });
    progress.end();
    out.result({ ...told, aside }, () =>
      [
        `restored:\n${textOf(told)}`,
        ...aside.map((path) => `before:   ${path}`),
        'Start memoryd and loopd; the recall index is built anew while it answers.',
      ].join('\n'),
    );
  } finally {
    progress.end();
    await lock.release();
  }
};

/** @throws AppError store-damaged */
async function checkWhole({ out }: CommandContext, folder: BackupFolder, backup: Backup): Promise<void> {
  const progress = startProgress(out, {
    what: 'verify',
    total: piecesOf(backup.manifest).length,
    unit: 'pieces',
  });
  const { faults } = await verifyBackup(folder, backup, progress).finally(() => progress.end());
  if (faults.length === 0) return;
  throw new AppError(
    'store-damaged',
    `the backup ${backup.name} is not whole: ${faults[0]}; nothing was changed`,
    {
      details: { faults },
    },
  );
}

function loopdConfig({ home }: CommandContext, options: Options) {
  const named = typeof options['home'] === 'string' ? home.home : undefined;
  return readConfig(loopdSettings, { name: 'loopd', home: named });
}

function toldOf({ name, manifest }: Backup) {
  const { records, files, sessions, version } = manifest;
  return {
    backup: name,
    version,
    records: records.count,
    sessions: Object.keys(sessions).length,
    files: Object.keys(files),
  };
}

function textOf({ backup, version, records, sessions, files }: ReturnType<typeof toldOf>): string {
  const names = files.map((file) => `${file}.md`).join(' and ');
  return `  ${backup} (${version}): ${records} records, ${sessions} sessions, ${names}`;
}

/** @throws ParamsError where nobody can be asked, AppError where the answer is no */
async function mustAgree({ out }: CommandContext, options: Options, text: string): Promise<void> {
  if (options['yes'] === true) return;
  if (!out.isTerminal || !process.stdin.isTTY)
    throw new ParamsError('yes', `${text}\nwithout a terminal to ask on, say --yes`);
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question(`${text}\nGo on? [y/N] `).finally(() => asking.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('rejected', 'nothing was changed');
}

interface Salvaged {
  recovered: number;
  damaged: number;
  damagedKeys: string[];
  sequenceMax: number;
  acknowledgedThrough?: number;
  findings: string[];
  aside: string;
}

/** memoryd may serve beside the damaged store meanwhile: it takes the new one into use by itself. */
async function salvage(context: CommandContext, options: Options): Promise<void> {
  const { home, out } = context;
  const { state, reasons } = await memorydChore<{ state: string; reasons: string[] }>('check-store', home);
  if (state === 'locked')
    throw new AppError('store-locked', 'the store is in use: it is not damaged, or stop memoryd first');
  if (state !== 'damaged')
    throw new AppError('rejected', 'nothing is wrong with the store; nothing was changed', {
      details: { state },
    });
  if (options['dryRun'] === true)
    return out.result({ dry_run: true, state, reasons }, () =>
      ['Nothing was changed. The store is damaged:', ...reasons].join('\n'),
    );
  await mustAgree(
    context,
    options,
    `The store is damaged: ${reasons[0]}\nWhat can be read of it takes its place.`,
  );
  const found = await memorydChore<Salvaged>('salvage', home);
  const lost = found.damaged;
  const isServing = (await holderOfLock(lockFiles(home).memoryd)) !== undefined;
  out.result(found, () =>
    [
      `recovered ${found.recovered} records, lost ${lost} that could not be read`,
      ...found.damagedKeys.slice(0, 20).map((key) => `  lost: ${key}`),
      ...(found.acknowledgedThrough !== undefined && found.acknowledgedThrough > found.sequenceMax
        ? [
            `  the last record that was recovered has number ${found.sequenceMax} of ${found.acknowledgedThrough}`,
          ]
        : []),
      `the damaged store: ${found.aside}`,
      isServing
        ? 'memoryd takes it into use within seconds; then: loopctl reindex'
        : 'Start memoryd; then: loopctl reindex',
    ].join('\n'),
  );
}
