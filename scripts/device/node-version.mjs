/** Ends with 1, and says why, where this Node is too old for loopkeep. */
const [major, minor] = process.versions.node.split('.').map(Number);
const isEnough = major > 20 || (major === 20 && minor >= 15);
if (!isEnough) {
  process.stderr.write(
    `loopkeep needs Node 20.15 or newer; ${process.execPath} is ${process.versions.node}\n`,
  );
  process.exitCode = 1;
}
