import type { GrantRequest, ToolGrant, ToolOffer } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';

/**
 * Decides which tools may be called: the node's security contexts, its tools and its MCP servers, narrowed by the
 * caller.
 */
export interface ToolGranter {
  /**
   * The grant of an execution: its security context (default `svc-system-agent-runtime`) ∩ its manifest. Throws
   * `forbidden` for a context that its tenant may not use, `not_found` for one that is not configured.
   */
  grant(tenant: string, request: GrantRequest): Promise<ToolGrant>;
  /**
   * The grant of a caller without an execution: the context of its kind and tier, with tools that need no files and no
   * commands.
   */
  callerGrant(identity: Identity): Promise<ToolGrant>;
  /** JSON Schema of a built-in tool's structured result; undefined for a tool that answers with text. */
  outputSchema(tool: string): JsonObject | undefined;
}

/**
 * Whether a tool needs an execution: files belong to an execution's workspace, and commands run where its agent runs. A
 * caller outside an execution has neither.
 */
export const needsExecution = ({ name, source, runs }: ToolOffer): boolean =>
  source === 'builtin' && (runs === 'agent' || name.startsWith('fs.'));
