import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { GatewayAnswer, GatewayHandler } from './bootstrap/api.ts';

interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The inner loop of an execution, as its area offers it to containers (spec 2, Dispatch gateway). */
export interface AgentGateway {
  generate(
    tenant: string,
    executionId: string,
    request: {
      readonly agent_id: string;
      readonly iteration_number: number;
      readonly model_alias: string;
      readonly prompt: string;
      readonly messages: readonly Json[];
    },
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
  dispatchResult(
    tenant: string,
    executionId: string,
    result: {
      readonly dispatch_id: string;
      readonly exit_code: number;
      readonly stdout: string;
      readonly stderr: string;
      readonly duration_ms: number;
      readonly truncated: boolean;
    },
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
}

/** Answers what comes out of one container: it may speak of its own execution and of nothing else. */
export function gatewayOf(
  gateway: AgentGateway,
  own: { readonly tenant: string; readonly executionId: string },
): GatewayHandler {
  return async (request, signal) => {
    const { execution_id, ...rest } = request;
    if (execution_id !== own.executionId)
      throw new SvcError('forbidden', 'execution_id: this is not the execution of this container', {
        field: 'execution_id',
      });
    if (rest.type === 'generate') {
      const { type: _, ...asked } = rest;
      return untilAborted(gateway.generate(own.tenant, own.executionId, asked, { signal }), signal);
    }
    const { type: _, ...result } = rest;
    return untilAborted(gateway.dispatchResult(own.tenant, own.executionId, result, { signal }), signal);
  };
}

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
