import { createHash } from 'node:crypto';
import type { Collection, Documents } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import {
  documentFacts,
  type FactDocument,
  nodeOfRound,
  roundFact,
  type StoreFacts,
  type StoreNames,
} from '../store-formats.ts';

/** Limit of a read, above the number of formats, so that one round is among them. */
const MOST_FACTS = 1_000;

interface RoundsParts {
  readonly store: StoreFacts;
  readonly documents: Documents;
}

/**
 * Numbers the rounds in which a node removes projected entries from the log. The number is written into the documents
 * first, then into the actor store, and then the log is trimmed. So a round that is in the actor store but not in the
 * documents means that the documents are older than the log: a backup of them was restored.
 */
export class ProjectionRounds {
  readonly #store: StoreFacts;
  readonly #facts: Collection<FactDocument>;
  readonly #name: string;
  #last: number;

  static async open({ store, documents, node }: RoundsParts & { readonly node: string }): Promise<ProjectionRounds> {
    const facts = await documentFacts(documents);
    const name = roundFact(node);
    const known = (await facts.get(SYSTEM_TENANT, name))?.version ?? 0;
    return new ProjectionRounds(store, facts, name, Math.max(known, Number((await store.facts()).get(name) ?? 0)));
  }

  private constructor(store: StoreFacts, facts: Collection<FactDocument>, name: string, last: number) {
    this.#store = store;
    this.#facts = facts;
    this.#name = name;
    this.#last = last;
  }

  /**
   * Call it between the writes into documents and the trim of the log. Throws `unavailable`: nothing may be trimmed
   * then.
   */
  async finish(): Promise<void> {
    this.#last += 1;
    const round = this.#last;
    await this.#facts.put({ tenant: SYSTEM_TENANT, id: this.#name, version: round, text: '' });
    await this.#store.keepFact(this.#name, String(round));
  }
}

interface Gap {
  readonly node: string;
  /** Rounds in the documents, and rounds in the log. */
  readonly has: number;
  readonly needs: number;
}

/**
 * Throws `failed_precondition` when the documents are older than the log, unless `accepted` is the confirmation that
 * the error names, which is valid for this loss only. After it the documents count as complete.
 */
export async function refuseOlderDocuments(
  parts: RoundsParts & { readonly names: StoreNames; readonly accepted: string | undefined },
): Promise<void> {
  const { store, documents, names, accepted } = parts;
  const facts = await documentFacts(documents);
  const gaps: Gap[] = [];
  for (const [fact, value] of await store.facts()) {
    const node = nodeOfRound(fact);
    if (node === null) continue;
    const has = (await facts.get(SYSTEM_TENANT, fact))?.version ?? 0;
    if (has < Number(value)) gaps.push({ node, has, needs: Number(value) });
  }
  gaps.sort((a, b) => (a.node < b.node ? -1 : 1));
  const [first] = gaps;
  if (first === undefined) return;
  const confirmation = createHash('sha256').update(JSON.stringify(gaps)).digest('hex').slice(0, 12);
  if (accepted !== confirmation) {
    throw new SvcError(
      'failed_precondition',
      `${names.documents} is older than ${names.store}: it has round ${first.has} of node ${first.node}, the log begins ` +
        `behind round ${first.needs}, so what ended in between is in neither. Restore documents that are not older than the ` +
        `log, or accept the loss with --accept-older-documents ${confirmation}`,
    );
  }
  for (const { node, needs } of gaps) {
    await facts.put({ tenant: SYSTEM_TENANT, id: roundFact(node), version: needs, text: '' });
  }
}

/**
 * Null, or a sentence for the operator when the documents come from nodes whose log is not in this actor store: it is empty, because
 * its data was lost or not restored, or because the address is another server's.
 */
export async function lostLog({
  store,
  documents,
  names,
}: RoundsParts & { readonly names: StoreNames }): Promise<string | null> {
  if ([...(await store.facts()).keys()].some((fact) => nodeOfRound(fact) !== null)) return null;
  const facts = await documentFacts(documents);
  const known = await facts.find({ tenant: SYSTEM_TENANT, limit: MOST_FACTS });
  if (!known.some(({ id }) => nodeOfRound(id) !== null)) return null;
  return (
    `${names.store} is empty, but ${names.documents} has data of nodes that ran before: running work of that time is not here. ` +
    `If you did not remove it, stop all nodes, check the address, and restore ${names.store}`
  );
}
