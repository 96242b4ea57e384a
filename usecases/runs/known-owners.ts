import type { Address } from '../../runtime/address.ts';
import { type Identity, ownerPart, sees, seesAll, type Viewer } from '../../runtime/identity.ts';

/** Most runs whose owners are kept. */
const MOST = 1_000;

/** Owners of runs that this process started a short while ago. An owner never changes, so no state is read to find it again. */
export class KnownOwners {
  readonly #owners = new Map<Address, string | undefined>();

  /** Notes a run that was started with this identity under an id that was created for it. */
  note(address: Address, identity: Identity): void {
    this.#owners.set(address, ownerPart(identity).owner);
    if (this.#owners.size <= MOST) return;
    for (const oldest of this.#owners.keys()) {
      this.#owners.delete(oldest);
      return;
    }
  }

  /** The address, when it is known that the viewer may see the run. */
  seenBy(viewer: Viewer, address: Address): Address | null {
    if (seesAll(viewer)) return address;
    return this.#owners.has(address) && sees(viewer, this.#owners.get(address)) ? address : null;
  }
}
