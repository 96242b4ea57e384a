import type { Capabilities } from '../../../actors/node-peer/api.ts';
import type { NodeCapabilityAdvertisement } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { invalid } from './wire-names.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/=+@-]{0,62}$/;

/**
 * What a node has, or what an execution needs at least. Throws `invalid_argument` naming the field for an amount that
 * is none and for names that are too many or malformed.
 */
export function capabilitiesOf(
  said: NodeCapabilityAdvertisement,
  { field, names }: { readonly field: string; readonly names: number },
): Capabilities {
  return {
    gpu_count: said.gpu_count,
    vram_gb: amount(said.vram_gb, `${field}.vram_gb`),
    cpu_cores: said.cpu_cores,
    available_memory_gb: amount(said.available_memory_gb, `${field}.available_memory_gb`),
    supported_runtimes: namesOf(said.supported_runtimes, { field: `${field}.supported_runtimes`, most: names }),
    tags: namesOf(said.tags, { field: `${field}.tags`, most: names }),
  };
}

/** A float of the wire that counts something. */
export function amount(value: number, field: string): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw invalid(field, 'a number of 0 or more');
}

function namesOf(said: readonly string[], { field, most }: { field: string; most: number }): string[] {
  if (said.length > most) throw invalid(field, `at most ${most} entries`);
  const wrong = said.findIndex((name) => !NAME.test(name));
  if (wrong !== -1) throw invalid(`${field}[${wrong}]`, 'a name such as gpu or zone:eu, at most 63 characters');
  return [...new Set(said)];
}
