import { execution } from '../../actors/execution/definition.ts';
import { createModelEffect } from '../../effects/models/model-effect.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import {
  createExecutionApi,
  EXECUTIONS,
  type ExecutionApi,
  type ExecutionDocument,
} from '../../usecases/executions.ts';
import type { MemberInfo } from '../../usecases/ports/cluster.ts';
import { counter, job } from '../support/actors.ts';
import { type Kernel, openKernels } from '../support/kernels.ts';
import { scriptedSettings } from '../support/scripted-settings.ts';

/** The counter of the kernel's tests, in a kind that may be placed outside of its home partition. */
const traveller = defineActor({ ...counter, kind: 'traveller', placed: true });

/** A kernel, and the calls of a transport on it. */
export interface FleetNode extends Kernel {
  readonly executions: ExecutionApi;
}

export interface FleetKernels extends AsyncDisposable {
  node(name: string, info?: Partial<MemberInfo>, effects?: readonly EffectHandler[]): Promise<FleetNode>;
}

/** Several kernels with executions and a scripted model. Their leases are the default of a node unless a test gives a time. */
export async function openFleetKernels({ leaseTtlMs = 6_000 } = {}): Promise<FleetKernels> {
  const kernels = await openKernels();
  const { llm_providers, llm_selection } = scriptedSettings(new URL('./script.yaml', import.meta.url));
  const secrets = { resolve: async (_tenant: string, reference: string) => reference };
  const model = createModelEffect({ providers: llm_providers, selection: llm_selection, secrets });
  return {
    async node(name, info = {}, effects = []) {
      const kernel = await kernels.start(name, {
        definitions: [traveller, counter, job, execution],
        handlers: [model, ...effects],
        info,
        settings: {
          partitions: 32,
          systemPartitions: 4,
          tagPoolPartitions: 4,
          leaseTtlMs,
          leaseRenewMs: 2_000,
        },
      });
      const { runtime, stores } = kernel;
      const executions = createExecutionApi({
        client: runtime.client,
        executions: await stores.documents.collection<ExecutionDocument>(EXECUTIONS),
        removals: runtime.removals,
        node: () => ({ isolation: 'process' }),
      });
      return { ...kernel, executions };
    },
    [Symbol.asyncDispose]: () => kernels[Symbol.asyncDispose](),
  };
}
