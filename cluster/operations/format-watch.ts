import type { Clock } from '../../runtime/clock.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import { FORMAT } from '../../runtime/store-formats.ts';
import type { FleetMember } from '../placement/fleet.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';

interface FormatWatchParts {
  readonly fleet: Pick<FleetPlacement, 'onMembers'>;
  readonly node: string;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** Called repeatedly while nodes of an older format run: migrates what they write. */
  readonly whileOlder: () => Promise<void>;
  /** Called when no older node is left: removes what only older formats need, and refuses older programs. Idempotent. */
  readonly contract: () => Promise<void>;
}

const AGAIN_MS = 2_000;

const isOlder = ({ info }: FleetMember): boolean => info !== null && (info.format ?? 1) < FORMAT;

/**
 * Expand, then contract: store formats change in two steps, so that a fleet can be upgraded node by node. Each node takes the
 * second step when it is a member and no older member is left.
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
      warn('the store formats could not be migrated; retrying', thrown);
    }
    running = false;
    if (!over) cancel = clock.after(AGAIN_MS, run);
  };
  const run = (): void => {
    if (over || running || !members.some((member) => member.node === node)) return;
    cancel();
    step().catch((thrown: unknown) => warn('the watch on store formats has ended', thrown));
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
