import { type AgentGateway, answerGateway, type GatewayHandler } from './bootstrap/api.ts';

/** Answers what comes out of one container: it may speak of its own execution and of nothing else. */
export const gatewayOf =
  (gateway: AgentGateway, own: { readonly tenant: string; readonly executionId: string }): GatewayHandler =>
  (request, signal) =>
    untilAborted(answerGateway(gateway, own, request, { signal }), signal);

/** A loop that is slow to hear of the end keeps no container's node waiting. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
