import { z } from 'zod';
import { KnownVolume } from '../../../manifests/known-volume.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { failRun } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { advance } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';

/** `known` is absent in the answer of a node that did not tell it. */
const volume = z.object({ volume_id: z.string(), known: KnownVolume.optional() });

/** Result value of the effect `volumes.prepare`. */
const Prepared = z.object({ workspace: volume.nullish(), shared: z.record(z.string(), volume).default({}) });

/** The volumes of `spec.storage` are there: the first state is entered. Without them the run fails. */
export function VolumesPrepared(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'volumes') return state;
  if (state.awaiting.effect_id !== result.effectId) return state;
  const { awaiting: _awaiting, ...run } = state;
  const { outcome } = result;
  if (outcome.kind === 'failed') return failRun(run, outcome.code, `volumes: ${outcome.message}`, turn);
  const prepared = Prepared.safeParse(outcome.kind === 'done' ? outcome.value : null);
  if (!prepared.success) return failRun(run, 'volumes_failed', 'the volumes could not be made', turn);
  const { workspace, shared } = prepared.data;
  const ids = Object.entries(shared).map(([name, { volume_id }]): [string, string] => [name, volume_id]);
  const storage = {
    workspace: workspace?.volume_id ?? run.storage.workspace,
    implicit: workspace === undefined || workspace === null,
    shared: Object.fromEntries(ids),
    known: Object.fromEntries(
      [workspace, ...Object.values(shared)].flatMap((one) =>
        one?.known === undefined ? [] : [[one.volume_id, one.known]],
      ),
    ),
  };
  return advance({ ...run, storage }, run.manifest.spec.initial_state, turn);
}
