import type { Clock } from '../../runtime/clock.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import { FORMAT } from '../../runtime/store-formats.ts';
import type { FleetMember } from '../placement/fleet.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';

export interface FormatWatchParts {
  readonly fleet: Pick<FleetPlacement, 'onMembers'>;
  readonly node: string;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** Now and again while a node of an older format runs beside this one: takes what it wrote where this format looks. */
  readonly whileOlder: () => Promise<void>;
  /** Once none is left: what only older formats need goes, and their programs are refused. May be repeated. */
  readonly contract: () => Promise<void>;
}

const AGAIN_MS = 2_000;

const isOlder = ({ info }: FleetMember): boolean => info !== null && (info.format ?? 1) < FORMAT;

/**
 * Expand, then contract: formats change in two steps, so that a fleet is upgraded node by node. The second step is taken by
 * each node of this format by itself, as soon as it sees itself among the members and no older one.
 */
export function watchFormats({ fleet, node, clock, warn, whileOlder, contract }: FormatWatchParts): Unsubscribe {
  let members: readonly FleetMember[] = [];
  let running = false;
  let over = false;
  let cancel = (): void => {};
  const step = async (): Promise<void> => {
    running = true;
    try {
      if (members.some(isOlder)) await whileOlder();
      else {
        await contract();
        over = true;
      }
    } catch (thrown) {
      warn('the formats of the stores could not be brought forward; it is tried again', thrown);
    }
    running = false;
    if (!over) cancel = clock.after(AGAIN_MS, run);
  };
  const run = (): void => {
    if (over || running || !members.some((member) => member.node === node)) return;
    cancel();
    step().catch((thrown: unknown) => warn('the watch over formats has ended', thrown));
  };
  const unwatch = fleet.onMembers((seen) => {
    members = seen;
    run();
  });
  return () => {
    over = true;
    cancel();
    unwatch();
  };
}
