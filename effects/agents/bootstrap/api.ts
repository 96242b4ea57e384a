import { readFile } from 'node:fs/promises';
import type { CallOptions } from '../../../runtime/client.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { FirstUse } from '../../../runtime/one-at-a-time.ts';
import type { GatewayAnswer, GatewayRequest } from './messages.ts';

export {
  type DispatchAnswer,
  DispatchResultMessage,
  type FinalAnswer,
  type GatewayAnswer,
  type GatewayHandler,
  type GatewayProblem,
  GatewayRequest,
  GenerateMessage,
  gatewayProblem,
  gatewayRequestOf,
  readShellRequest,
  retrySecs,
  SHELL_ANSWER,
  SHELL_REQUEST,
  shellAnswer,
  shellProblem,
} from './messages.ts';

/** The inner loop of an execution, as its area offers it to whoever runs agents (H9). */
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

/**
 * One exchange of a bootstrap with the gateway, the same over REST, gRPC and a container's mailbox. The wait ends with
 * `options.signal`, the loop does not. Throws `forbidden` for a request that speaks of another execution than `own`, and
 * what the loop throws.
 */
export function answerGateway(
  gateway: AgentGateway,
  own: { readonly tenant: string; readonly executionId: string },
  request: GatewayRequest,
  options: CallOptions,
): Promise<GatewayAnswer> {
  const { tenant, executionId } = own;
  if (request.execution_id.toLowerCase() !== executionId.toLowerCase()) {
    const text = 'execution_id: expected the execution that the token or container was given to';
    return Promise.reject(new SvcError('forbidden', text, { field: 'execution_id' }));
  }
  if (request.type === 'generate') {
    const { type: _type, execution_id: _execution, ...asked } = request;
    return gateway.generate(tenant, executionId, asked, options);
  }
  const { type: _type, execution_id: _execution, ...result } = request;
  return gateway.dispatchResult(tenant, executionId, result, options);
}

/** A file that a container needs to run an agent. */
interface BootstrapFile {
  readonly name: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** The script of this version. */
const script = new FirstUse(() => readFile(new URL('./bootstrap.sh', import.meta.url)));

/** What the node puts beside an agent's program: `bootstrap.sh`, run as `sh bootstrap.sh PROMPT`. */
export async function bootstrapFiles(): Promise<readonly BootstrapFile[]> {
  return [{ name: 'bootstrap.sh', content: await script.get(), mode: 0o555 }];
}
