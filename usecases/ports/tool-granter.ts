import type { GrantRequest, ToolGrant, ToolOffer } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';

/** Says what may be called: the node's security contexts, its tools and MCP servers, narrowed by who asks. */
export interface ToolGranter {
  /**
   * For an execution: its context (default `svc-system-agent-runtime`) ∩ its manifest. Throws `forbidden` for a context that
   * its tenant may not use, `not_found` for one that is not configured.
   */
  grant(tenant: string, request: GrantRequest): Promise<ToolGrant>;
  /** For a caller without an execution: the context of its kind and tier, tools that need no files and no commands. */
  callerGrant(identity: Identity): Promise<ToolGrant>;
  /** JSON Schema of a built-in tool's structured result; undefined for one that answers with text. */
  outputSchema(tool: string): JsonObject | undefined;
}

/** Files belong to the workspace of an execution, and commands run where its agent runs: a caller by itself has neither. */
export const needsExecution = ({ name, source, runs }: ToolOffer): boolean =>
  source === 'builtin' && (runs === 'agent' || name.startsWith('fs.'));
