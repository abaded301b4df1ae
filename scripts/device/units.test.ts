/**
 * Goal: the units say what they mean to the systemd of this machine, and the sandbox stays as tight as it is.
 * Method: systemd-analyze on a copy in which the paths of an installation are replaced by ones that exist here.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const source = new URL('../../config/', import.meta.url).pathname;
const unitNames = readdirSync(join(source, 'systemd'));
const unitText = (name: string) => readFileSync(join(source, 'systemd', name), 'utf8');

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const options =
  hasAnalyze || process.env['REQUIRE_ALL'] ? {} : { skip: 'systemd-analyze is not installed here' };

/** The greatest exposure that each daemon may have, in tenths, as `--threshold` counts. */
const exposureMax = { memoryd: 3, loopd: 12 };

/** The units as an installation in a temporary folder has them. */
function installedUnits(): string {
  const dir = mkdtempSync(join(tmpdir(), 'loopkeep-units-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'lib'));
  symlinkSync(process.execPath, join(dir, 'lib', 'node'));
  cpSync(join(source, 'systemd'), join(dir, 'units'), { recursive: true });
  for (const name of unitNames) {
    const file = join(dir, 'units', name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('/usr/lib/loopkeep', join(dir, 'lib')));
  }
  return join(dir, 'units');
}

const units = installedUnits();

test('systemd-analyze verify has nothing to say about any unit', options, () => {
  const files = unitNames.map((name) => join(units, name));

  const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  });

  // An unknown key ends with status 0 as well: only silence is success.
  assert.equal(stdout + stderr, '');
  assert.equal(status, 0);
});

for (const [daemon, threshold] of Object.entries(exposureMax)) {
  test(`the exposure of ${daemon} is at most ${threshold / 10}`, options, () => {
    const { stdout, status } = spawnSync(
      'systemd-analyze',
      [
        'security',
        '--offline=true',
        '--no-pager',
        `--threshold=${threshold}`,
        join(units, `${daemon}.service`),
      ],
      { encoding: 'utf8' },
    );

    assert.equal(status, 0, stdout);
  });
}

const sockets = unitNames.filter((name) => name.endsWith('.socket'));

test('every socket has a name, a folder and a group of its own', () => {
  const values = (key: string) =>
    sockets.map((name) => new RegExp(`^${key}=(.*)$`, 'm').exec(unitText(name))?.[1] ?? `${name}: none`);

  assert.equal(sockets.length, 4);
  for (const key of ['FileDescriptorName', 'ListenStream', 'SocketGroup']) {
    assert.equal(new Set(values(key)).size, sockets.length, values(key).join(', '));
  }
});

test('the folder of every socket comes from tmpfiles.d, for the group of that socket alone', () => {
  const tmpfiles = readFileSync(join(source, 'tmpfiles.d/loopkeep.conf'), 'utf8');
  for (const name of sockets) {
    const folder = /^ListenStream=(.*)\/[^/]+$/m.exec(unitText(name))?.[1];
    const group = /^SocketGroup=(.*)$/m.exec(unitText(name))?.[1];
    assert.match(tmpfiles, new RegExp(`^d +${folder} +0750 root +${group} +-$`, 'm'), name);
  }
});

test('every group and user that a unit or a folder names is made by sysusers.d', () => {
  const sysusers = readFileSync(join(source, 'sysusers.d/loopkeep.conf'), 'utf8');
  const made = new Set([...sysusers.matchAll(/^[gu] +(\S+)/gm)].map(([, name]) => name));
  const named = unitNames.flatMap((name) =>
    [...unitText(name).matchAll(/^(?:User|Group|SocketUser|SocketGroup|SupplementaryGroups)=(.*)$/gm)].map(
      ([, value]) => value,
    ),
  );
  for (const name of named) assert.ok(name === 'root' || made.has(name), `nobody makes ${name}`);
  assert.ok(!/^u[^"]*"[^"]*:/m.test(sysusers), 'a colon in a description: systemd would make no user');
});

test('no daemon is in the way of the other: loopd only wants the memory, and cannot see the store', () => {
  const loopd = unitText('loopd.service');

  assert.ok(!/^(?:Requires|BindsTo)=.*(?:memoryd|loopkeep-loop)/m.test(loopd));
  assert.match(loopd, /^InaccessiblePaths=.*-\/var\/lib\/loopkeep\/memory/m);
});
