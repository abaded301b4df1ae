/** A test reporter that prints failures and one closing line; silence is success. */
export default async function* reporter(source) {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for await (const { type, data } of source) {
    if (type === 'test:fail' && !isFileOf(data)) {
      failed += 1;
      const error = data.details.error;
      const cause = error.cause ?? error;
      yield `not ok: ${data.name}\n  at ${data.file}:${data.line}\n  ${String(cause.stack ?? cause.message ?? cause).replaceAll('\n', '\n  ')}\n`;
    } else if (type === 'test:fail' && data.nesting === 0) {
      failed += 1;
      yield `not ok: ${data.name}: ${data.details.error.message}\n`;
    } else if (type === 'test:pass' && !isFileOf(data)) {
      if (data.skip === undefined) passed += 1;
      else skipped += 1;
    } else if (type === 'test:stderr' || (type === 'test:stdout' && process.env.VERBOSE)) yield data.message;
    else if (type === 'test:stdout') yield figuresIn(data.message);
    else if (type === 'test:diagnostic' && process.env.VERBOSE) yield `# ${data.message}\n`;
  }
  yield `tests: ${passed} passed, ${failed} failed, ${skipped} skipped\n`;
}

/** What a suite measured, and the seed that repeats it, are told also where all is well. */
function figuresIn(text) {
  return text.replaceAll(/^(?!figures: |SEED=).*\n?/gm, '');
}

/** node:test wraps each file, and each suite, in a test of its own; only leaves count. */
function isFileOf(data) {
  return data.details?.type === 'suite';
}
