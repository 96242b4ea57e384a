import type { Asker } from './asker.ts';

export type Kind = 'agent' | 'workflow' | 'execution' | 'run' | 'volume' | 'secret' | 'key' | 'pattern';
export type Scope = 'user' | 'tenant' | 'global';

/** Identity of a caller, beyond its headers. */
export interface Person extends Asker {
  readonly subject: string;
  /** Administers the tenant: may change its users' own objects by id. */
  readonly isAdmin: boolean;
  /** Operates the installation: sees the runs of its tenant, also those of users' own objects. */
  readonly isOperator: boolean;
  /** May write in the tenant, and so administers its API keys. */
  readonly writes: boolean;
}

/** A created object, its scope, and words that occur in no other object. */
export interface Made {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly words: string[];
  tenant: string;
  scope: Scope;
  /** Subject of the user who owns it, when it is a user's own. */
  owner: string;
  isGone: boolean;
  /** Names of the callers that could ever see it: their executions may name it for ever. */
  readonly seenBy: Set<string>;
  /**
   * Tenants where it ran: an execution belongs to its tenant, and names its agent or workflow; a run of a user's own
   * belongs to that user.
   */
  readonly ranIn: Set<string>;
}

export const isCatalog = ({ kind }: Pick<Made, 'kind'>): boolean => kind === 'agent' || kind === 'workflow';

const isRun = ({ kind }: Pick<Made, 'kind'>): boolean => kind === 'execution' || kind === 'run';

/** The whole rule of visibility. */
export function sees(person: Person, made: Made): boolean {
  if (made.isGone) return false;
  if (made.scope === 'global') return true;
  if (made.tenant !== person.tenant) return false;
  if (isRun(made) && person.isOperator) return true;
  if (made.kind === 'key') return made.owner === person.subject || person.writes;
  return made.scope === 'tenant' || made.owner === person.subject;
}

/** All objects that were created on the node, and the callers that could ever see them. */
export class Model {
  readonly people: readonly Person[];
  readonly things: Made[] = [];
  #count = 0;

  constructor(people: readonly Person[]) {
    this.people = people;
  }

  /** A word that no answer contains by chance. */
  word(): string {
    this.#count += 1;
    return `word${this.#count.toString(36).padStart(5, '0')}q`;
  }

  /** Records that the object exists, or exists again with one more word; returns it. */
  made(given: Omit<Made, 'isGone' | 'seenBy' | 'ranIn' | 'words'> & { readonly word: string }): Made {
    const { word, ...at } = given;
    const known = this.things.find(({ kind, id }) => kind === at.kind && id === at.id);
    const thing = known ?? { ...at, words: [], isGone: false, seenBy: new Set<string>(), ranIn: new Set<string>() };
    if (known === undefined) this.things.push(thing);
    thing.words.push(word);
    thing.isGone = false;
    this.seen(thing);
    return thing;
  }

  seen(thing: Made): void {
    for (const person of this.people) if (sees(person, thing)) thing.seenBy.add(person.name);
  }

  move(thing: Made, scope: Scope, owner: string): void {
    thing.scope = scope;
    thing.owner = owner;
    this.seen(thing);
  }

  pick(which: number, kinds: readonly Kind[]): Made | undefined {
    const found = this.things.filter(({ kind }) => kinds.includes(kind));
    return found[which % (found.length || 1)];
  }

  /**
   * Objects in an answer that this caller must not see. `isStrict`: for the catalog, which drops objects at once when
   * they are no longer visible; elsewhere an execution of the tenant may name them for ever.
   */
  leaks(person: Person, text: string, isStrict: boolean, asked?: Made): string[] {
    const mayShow = (thing: Made): boolean =>
      isStrict && isCatalog(thing)
        ? sees(person, thing)
        : thing.seenBy.has(person.name) || thing.ranIn.has(person.tenant);
    return this.things
      .filter((thing) => thing !== asked && !mayShow(thing))
      .filter(({ id, words }) => text.includes(id) || words.some((word) => text.includes(word)))
      .map(({ kind, id, tenant, scope, owner }) => `${kind} ${id} of ${tenant}, ${scope} ${owner}`);
  }
}
