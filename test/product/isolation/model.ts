import type { Asker } from './asker.ts';

export type Kind = 'agent' | 'workflow' | 'execution' | 'run' | 'volume' | 'secret' | 'key' | 'pattern';
export type Scope = 'user' | 'tenant' | 'global';

/** Who someone is, beyond the headers. */
export interface Person extends Asker {
  readonly subject: string;
  /** Administers the tenant: changes its users' own things by id. */
  readonly isAdmin: boolean;
  /** Of the installation: sees what runs in its tenant, also of others' own. */
  readonly isOperator: boolean;
  /** May write in the tenant, and so administers its API keys. */
  readonly writes: boolean;
}

/** Something that was made, where it stands, and words that nothing else has. */
export interface Made {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly words: string[];
  tenant: string;
  scope: Scope;
  /** Subject, for what is a user's own. */
  owner: string;
  isGone: boolean;
  /** Names of those who ever could see it: an execution of theirs may name it for ever. */
  readonly seenBy: Set<string>;
  /** Tenants where it ran: an execution belongs to its tenant, and says of what it is one; of a user's own, to that user. */
  readonly ranIn: Set<string>;
}

export const isCatalog = ({ kind }: Pick<Made, 'kind'>): boolean => kind === 'agent' || kind === 'workflow';

const isRun = ({ kind }: Pick<Made, 'kind'>): boolean => kind === 'execution' || kind === 'run';

/** Who may see what: the whole rule. */
export function sees(person: Person, made: Made): boolean {
  if (made.isGone) return false;
  if (made.scope === 'global') return true;
  if (made.tenant !== person.tenant) return false;
  if (isRun(made) && person.isOperator) return true;
  if (made.kind === 'key') return made.owner === person.subject || person.writes;
  return made.scope === 'tenant' || made.owner === person.subject;
}

/** All that was made on the node, and who ever could see it. */
export class Model {
  readonly people: readonly Person[];
  readonly things: Made[] = [];
  #count = 0;

  constructor(people: readonly Person[]) {
    this.people = people;
  }

  /** A word that no answer holds by chance. */
  word(): string {
    this.#count += 1;
    return `word${this.#count.toString(36).padStart(5, '0')}q`;
  }

  /** Says that it is there, or is there again with one more word; answers it. */
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
   * What an answer to this person shows and must not. `isStrict`: of the catalog, which forgets at once what the person may
   * see no more; elsewhere an execution of the tenant may name it for ever.
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
