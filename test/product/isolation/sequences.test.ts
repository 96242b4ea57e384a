import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { sample } from '../../support/size.ts';
import { bytesOf } from '../tenancy.ts';
import { end, LISTS, LOOK, MAKE, MOVES, move, start } from './actions.ts';
import { type Question, unknownFor, withoutAsked } from './asker.ts';
import { IsolatedTenants } from './isolated-tenants.ts';
import { isCatalog, type Kind, type Made, Model, type Person, sees } from './model.ts';

/** Time for random calls, extended while too few answers were checked. */
const FOR_MS = Number(process.env.SVC_ISOLATION_MS ?? sample({ normal: 1_000, long: 45_000 }));

const KINDS: readonly Kind[] = ['agent', 'workflow', 'execution', 'run', 'volume', 'secret', 'key', 'pattern'];
const DEPLOYED: readonly Kind[] = ['agent', 'workflow'];

const step = fc.record({
  who: fc.nat({ max: 1_000 }),
  does: fc.constantFrom(
    'make',
    'make',
    'start',
    'start',
    'end',
    'move',
    'move',
    'look',
    'look',
    'look',
    'list',
    'list',
  ),
  makes: fc.constantFrom('agent', 'agent', 'workflow', 'workflow', ...Object.keys(MAKE)),
  /** Names are shared between tenants on purpose. */
  name: fc.constantFrom('writer', 'reader', 'planner'),
  scope: fc.constantFrom('user', 'tenant', 'tenant', 'global'),
  move: fc.constantFrom(...MOVES),
  which: fc.nat({ max: 100_000 }),
  way: fc.nat({ max: 1_000 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Subjects and roles of the callers of realms.ts and isolated-tenants.ts. */
const SUBJECTS: Readonly<Record<string, string>> = {
  ...{ operator: 'olga', operatorNamingAlpha: 'olga', readonly: 'rita', alphaAdmin: 'anna', alphaUser: 'andy' },
  ...{ betaAdmin: 'bert', betaUserNamingAlpha: 'bea', consumer: 'carl', alphaOther: 'amy', alphaReader: 'rolf' },
};

describe('random calls of callers of every kind on one node', () => {
  let setup: IsolatedTenants;
  let model: Model;
  let answers = 0;
  let hidden = 0;
  let shown = 0;
  before(async () => {
    setup = await IsolatedTenants.open();
    const people = [...setup.askers.values()].map((asker): Person => {
      const caller = asker.name.replace('key of ', '');
      const isAdmin = /^(operator|operatorNamingAlpha|alphaAdmin|betaAdmin)$/.test(caller);
      const isOperator = caller.startsWith('operator');
      const writes = isAdmin || caller.startsWith('service');
      return { ...asker, subject: SUBJECTS[caller] ?? 'robot', isAdmin, isOperator, writes };
    });
    model = new Model(people);
  });
  after(() => setup[Symbol.asyncDispose]());

  /** One request; its answer must show nothing that is invisible to the caller. */
  async function put(
    person: Person,
    { method, path, ask = {} }: Question,
    { asked = undefined as Made | undefined, isStrict = false } = {},
  ) {
    const answer = await setup.ask(person, method, path, ask);
    answers += 1;
    const leaks = model.leaks(person, answer.text, isStrict, asked);
    assert.deepEqual(leaks, [], `${person.name} sees in ${method} ${path}`);
    return answer;
  }

  /**
   * One request about an object: for a caller that never could see it, the answer is that of an object that never
   * existed.
   */
  async function putAbout(person: Person, thing: Made, questionOf: (id: string) => Question) {
    const question = questionOf(thing.id);
    const answer = await put(person, question, { asked: thing });
    if (thing.seenBy.has(person.name) || (person.isAdmin && thing.tenant === person.tenant)) return answer;
    const none = unknownFor(thing.id);
    const never = await put(person, questionOf(none));
    const said = `${person.name} asks ${question.method} ${question.path} of ${thing.tenant}`;
    assert.equal(withoutAsked(bytesOf(answer), thing.id), withoutAsked(bytesOf(never), none), said);
    hidden += 1;
    return answer;
  }

  async function make(person: Person, { makes, name, scope }: Pick<Step, 'makes' | 'name' | 'scope'>): Promise<void> {
    const word = model.word();
    const { kind, question, idField } = (MAKE[makes] ?? assert.fail())({ name, word, scope });
    const { status, body, text } = await put(person, question);
    const isRefused = [403, 404].includes(status) || (status === 409 && body.error === 'limit_reached');
    if (status !== 200) return assert.ok(isRefused, `${person.name} makes ${makes}: ${text}`);
    const id = kind === 'secret' ? word : String(body[idField] ?? word);
    const isOwn = kind === 'key' || (isCatalog({ kind }) && scope === 'user');
    const at = isCatalog({ kind }) ? scope : isOwn ? 'user' : 'tenant';
    const tenant = at === 'global' ? 'svc-system' : person.tenant;
    const owner = isOwn ? person.subject : '';
    const known = model.things.find((thing) => thing.kind === kind && thing.id === id);
    const place = known === undefined ? null : [known.tenant, known.scope, known.owner];
    if (place !== null) assert.deepEqual(place, [tenant, at, owner], 'the same name elsewhere is another object');
    model.made({ kind, id, name, word, tenant, scope: at, owner });
  }

  async function begin(person: Person, { which }: Pick<Step, 'which'>): Promise<void> {
    const thing = model.pick(which, DEPLOYED);
    if (thing === undefined) return;
    const word = model.word();
    const kind = thing.kind === 'agent' ? 'agent' : 'workflow';
    const { status, body } = await putAbout(person, thing, (id) => start(kind, id, word));
    if (status !== 200) return;
    assert.ok(sees(person, thing), `${person.name} starts what it does not see`);
    const isOwn = thing.scope === 'user';
    if (!isOwn) thing.ranIn.add(person.tenant);
    // Operators see the run, and so the name of its workflow or agent.
    else for (const one of model.people) if (one.isOperator && one.tenant === person.tenant) thing.seenBy.add(one.name);
    const id = String(body.execution_id);
    const { tenant } = person;
    const [scope, owner] = isOwn ? (['user', person.subject] as const) : (['tenant', ''] as const);
    model.made({ kind: kind === 'agent' ? 'execution' : 'run', id, name: '', word, tenant, scope, owner });
  }

  async function finish(person: Person, { which }: Step): Promise<void> {
    const thing = model.pick(which, KINDS);
    if (thing === undefined || end(thing, thing.id) === null) return;
    const { status } = await putAbout(person, thing, (id) => end(thing, id) ?? assert.fail());
    if (status !== 200) return;
    assert.equal(
      thing.tenant,
      thing.scope === 'global' ? 'svc-system' : person.tenant,
      `${person.name} ends an object of another owner`,
    );
    if (isCatalog(thing) || thing.kind === 'volume' || thing.kind === 'secret') thing.isGone = true;
  }

  async function shift(person: Person, { which, move: body }: Step): Promise<void> {
    const thing = model.pick(which, DEPLOYED);
    if (thing === undefined) return;
    const { status } = await putAbout(person, thing, (id) => move(thing.kind, id, body));
    if (status !== 200) return;
    assert.ok(person.isAdmin && person.tenant === thing.tenant, `${person.name} moves an object of another owner`);
    model.move(thing, body.target_scope, body.target_scope === 'user' ? person.subject : '');
  }

  async function look(person: Person, { which, way }: Step): Promise<void> {
    const thing = model.pick(which, KINDS);
    if (thing === undefined) return;
    const ways = LOOK[thing.kind];
    const questionOf = ways[way % ways.length] ?? assert.fail();
    const { status, text } = await putAbout(person, thing, questionOf);
    // Secrets need the right to write, and tools the right to run.
    const isRefused =
      thing.kind === 'secret' || (/reader|readonly/i.test(person.name) && questionOf('').method === 'POST');
    if (!sees(person, thing) || isRefused) return;
    assert.equal(status, 200, `${person.name} reads its ${thing.kind}: ${text}`);
    shown += 1;
  }

  async function list(person: Person, { which, way }: Step): Promise<void> {
    const { question, isStrict } = LISTS[way % LISTS.length] ?? assert.fail();
    const thing = model.pick(which, KINDS);
    await put(person, question(`${thing?.name ?? 'writer'} for a test`), { isStrict });
  }

  const take = { make, start: begin, end: finish, move: shift, look, list };

  test('no answer ever shows an object of another owner, and each such object answers as one that never existed', async (t) => {
    const seed = Number(process.env.SVC_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}: SVC_SEED=${seed} takes the same steps again`);
    // First creates an object of every kind in three tenants.
    for (const name of ['alphaAdmin', 'betaAdmin', 'operator'])
      for (const makes of Object.keys(MAKE)) {
        const person = model.people.find((one) => one.name === name) ?? assert.fail();
        await make(person, { makes, name: 'writer', scope: 'tenant' });
        await begin(person, { which: model.things.filter(isCatalog).length - 1 });
      }
    const [until, latest] = [performance.now() + FOR_MS, performance.now() + FOR_MS + 60_000];
    const missing = () => KINDS.filter((kind) => !model.things.some((thing) => thing.kind === kind));
    const isEnough = () => hidden > 20 && shown > 10 && missing().length === 0;
    const isOver = () => performance.now() > (isEnough() ? until : latest);
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), async (steps) => {
      for (const one of steps) {
        if (isOver()) return;
        const person = model.people[one.who % model.people.length] ?? assert.fail();
        await take[one.does](person, one);
      }
    });
    await fc.assert(property, { seed, numRuns: 1_000, endOnFailure: true });
    const made = KINDS.map((kind) => `${model.things.filter((thing) => thing.kind === kind).length} ${kind}`);
    t.diagnostic(`${answers} answers, ${hidden} asked for in vain, ${shown} shown; made: ${made.join(', ')}`);
    assert.deepEqual(missing(), [], 'an object of every kind was created');
    assert.ok(hidden > 20 && shown > 10, 'some objects were hidden and some were shown');
    // In the end every caller reads every object.
    for (const person of model.people)
      for (const { question, isStrict } of LISTS) await put(person, question('writer for a test'), { isStrict });
  });
});
