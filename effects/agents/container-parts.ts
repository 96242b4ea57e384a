import type { ExecutionTokens } from '../../security/api.ts';
import type { ContainerParts } from '../containers/settings.ts';
import type { AgentGateway } from './bootstrap/api.ts';
import type { RuntimeSettings } from './runtimes.ts';

export interface AgentContainerParts {
  /** Those of `container.run` on this node. */
  readonly containers: ContainerParts;
  /** Directory of this node for mailboxes; the engine sees the same file system. Nobody else may enter it. */
  readonly directory: string;
  /** Content of `spec.runtime.bootstrap_script`; null: the node's own bootstrap. */
  readonly script: Buffer | null;
  /** The inner loop, asked for what comes out of mailboxes. */
  readonly gateway: AgentGateway;
  readonly tokens: Pick<ExecutionTokens, 'issue'>;
  /** Of the internal listener, as containers with a network reach it; null: it is not served. */
  readonly gatewayUrl: () => string | null;
  readonly runtimes: RuntimeSettings;
  /** `spec.runtime.containers.agent_network`, else `spec.runtime.container_network_mode`, else `none`. */
  readonly network: string;
  /** `spec.runtime.containers.keep_agent_containers`. */
  readonly keep: boolean;
}
