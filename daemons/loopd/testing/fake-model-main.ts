/**
 * The fake model server as a process: `fake-model-main.ts '{"listen": "/path/of.sock", "slots": 3, "rules": […]}'`.
 * Prints its url when it is ready; `/fake/steps`, `/fake/requests`, `/fake/release` and `/fake/load` are for the test.
 */
import { FakeModel, type FakeModelOptions } from './fake-model.ts';

const fake = await FakeModel.start(JSON.parse(process.argv[2] ?? '{}') as FakeModelOptions);
process.stdout.write(`${JSON.stringify({ msg: 'ready', url: fake.url })}\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void fake.stop());
