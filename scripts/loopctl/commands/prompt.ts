/** loopctl prompt: one turn for a script, the answer on standard output. */
import { ParamsError } from '../../../shared/params-error.ts';
import type { Channel } from '../channel.ts';
import type { Options, Run } from '../command.ts';
import { TurnView, type TurnReply } from '../turn-view.ts';

export const prompt: Run = async (context, [given], options) => {
  const text = given ?? (await context.input());
  if (text.trim() === '')
    throw new ParamsError('text', 'there is nothing to say: give TEXT or standard input');
  const channel = await context.channel();
  const view = new TurnView(context.out, context.out.isJson);
  const session = await sessionFor(channel, options);
  channel.onUpdate = (update) => view.take(update);
  const requestId = options['requestId'];
  const reply = await channel.request<TurnReply>('session/prompt', {
    sessionId: session,
    prompt: [{ type: 'text', text }],
    ...(typeof requestId === 'string' ? { _meta: { request_id: requestId } } : {}),
  });
  view.endLine();
  if (context.out.isJson) {
    context.out.write(
      `${JSON.stringify({ session, stop_reason: reply.stopReason, answer: view.answer, ...reply._meta })}\n`,
    );
  } else {
    view.end(reply);
    if (typeof options['session'] !== 'string') context.out.note(context.out.dim(`session ${session}`));
  }
};

/** The session that was named, resumed, or a new one. */
export async function sessionFor(channel: Channel, options: Options): Promise<string> {
  const named = options['session'];
  const where = { cwd: process.cwd(), mcpServers: [] };
  if (typeof named === 'string') {
    await channel.request('session/resume', { sessionId: named, ...where });
    return named;
  }
  const origin = options['origin'];
  const meta = typeof origin === 'string' ? { _meta: { origin } } : {};
  const { sessionId } = await channel.request<{ sessionId: string }>('session/new', { ...where, ...meta });
  return sessionId;
}
