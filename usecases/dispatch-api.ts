import type { ToolSubject } from '../manifests/tool/call.ts';
import type { GrantRequest } from '../manifests/tool/scope.ts';
import type { CallOptions } from '../runtime/client.ts';
import type { Json, JsonObject } from '../runtime/json.ts';

/** What a bootstrap asks for (H9). */
export interface GenerateRequest {
  readonly agent_id: string;
  readonly iteration_number: number;
  /** Empty: the manifest's. */
  readonly model_alias: string;
  readonly prompt: string;
  /** Conversation to begin with: {role, content, …}. */
  readonly messages: readonly Json[];
}

export interface DispatchResult {
  readonly dispatch_id: string;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration_ms: number;
  readonly truncated: boolean;
}

/** The answers of the gateway, as on the wire. */
export type GatewayAnswer =
  | {
      readonly type: 'final';
      readonly content: string;
      readonly tool_calls_executed: number;
      readonly conversation: readonly JsonObject[];
    }
  | {
      readonly type: 'dispatch';
      readonly dispatch_id: string;
      /** `exec`. */
      readonly action: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly cwd: string;
      readonly env_additions: Readonly<Record<string, string>>;
      readonly timeout_secs: number;
      readonly max_output_bytes: number;
    };

/**
 * The inner loop for agents that run in a program or container of their own (H9). Both calls wait
 * until the loop has a final answer or needs a command run; a call that was cut off is simply made again and gets the same.
 * Throws `not_found`, `failed_precondition` (ended; another iteration runs; no such dispatch is open), `invalid_argument`,
 * the model's and tools' errors.
 */
export interface DispatchApi {
  generate(
    tenant: string,
    executionId: string,
    request: GenerateRequest,
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
  dispatchResult(
    tenant: string,
    executionId: string,
    result: DispatchResult,
    options?: CallOptions,
  ): Promise<GatewayAnswer>;
}

/** Attestation as far as the execution knows (G12). */
export interface AttestApi {
  /**
   * Notes the session, so that it closes with the execution. Throws `not_found`, `failed_precondition` (not running),
   * `forbidden` (another agent's, another container).
   */
  attest(
    tenant: string,
    request: {
      readonly executionId: string;
      readonly agentId: string;
      readonly containerId: string;
      readonly sessionId: string;
    },
    options?: CallOptions,
  ): Promise<{
    readonly subject: ToolSubject;
    readonly grant_request: GrantRequest;
    /** When the execution ends at the latest, Unix ms. */
    readonly expires_at: number;
  }>;
}
