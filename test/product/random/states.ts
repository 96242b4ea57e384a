import type { Dice } from './dice.ts';
import { type JsonMap, listOr, mapOr, textOr } from './manifest.ts';
import { SCRIPT } from './script.ts';
import { type Earlier, randomText } from './texts.ts';

interface Means {
  readonly image: string | undefined;
  readonly shared: readonly string[];
  readonly calls: readonly string[];
  readonly isChild: boolean;
}

/** The bodies of states of every kind in the document, without their transitions. */
export class AnyState {
  readonly #dice: Dice;
  readonly #means: Means;

  constructor(dice: Dice, means: Means) {
    this.#dice = dice;
    this.#means = means;
  }

  make(name: string, earlier: readonly Earlier[]): JsonMap {
    const { image, calls, isChild } = this.#means;
    const kinds = [
      'shell',
      'built-in',
      ...(isChild ? [] : ['Human', 'Agent', 'ParallelAgents']),
      ...(calls.length === 0 ? [] : ['Subworkflow']),
      ...(image === undefined ? [] : ['ContainerRun', 'ContainerRun', 'ParallelContainerRun']),
    ];
    switch (this.#dice.pick(kinds)) {
      case 'built-in':
        return this.#builtIn(earlier);
      case 'Human':
        return this.#human(earlier);
      case 'Agent':
        return this.#agent(earlier);
      case 'ParallelAgents':
        return this.#panel(earlier);
      case 'Subworkflow':
        return this.#call(earlier);
      case 'ContainerRun':
        return { kind: 'ContainerRun', ...this.#container(name, earlier), ...this.#retry() };
      case 'ParallelContainerRun':
        return this.#containers(earlier);
      default:
        return this.#shell(name, earlier);
    }
  }

  stepsOf(body: JsonMap): string[] {
    return listOr(body.steps).map((step) => textOr(mapOr(step).name, ''));
  }

  #text(earlier: readonly Earlier[]): string {
    return randomText(this.#dice, earlier);
  }

  #shell(name: string, earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    if (dice.chance(0.04)) return { kind: 'System', command: 'sleep 30', timeout: '1s' };
    const sub: JsonMap = dice.chance(0.2) ? { workdir: '/workspace/below' } : {};
    const files: JsonMap = dice.chance(0.2) ? { files: { 'given/text': this.#text(earlier) } } : {};
    const places = [
      'f1',
      'f2',
      '/workspace/f1',
      'note',
      ...(files.files === undefined ? [] : ['/workspace/given/text']),
    ];
    return {
      kind: 'System',
      command: this.#script(places, name),
      env: { A: this.#text(earlier), B: this.#text(earlier) },
      ...sub,
      ...files,
    };
  }

  /** Statements that `shell.ts` can interpret. */
  #script(places: readonly string[], name: string): string {
    const dice = this.#dice;
    const place = (): string => dice.pick(places);
    const statement = (): string =>
      dice.pick([
        `printf '%s\\n' "$A"`,
        `printf '%s' "$A-$B"`,
        `printf '%s\\n' "$B" >&2`,
        `printf '%s' "$A" > ${place()}`,
        `printf '%s\\n' "$B" >> ${place()}`,
        `printf '%s' ${name} >> ${place()}`,
        `cat ${place()} 2>/dev/null`,
        `test "$A" = "$B"`,
      ]);
    const statements = Array.from({ length: dice.whole(1, 4) }, statement);
    return [...statements, ...(dice.chance(0.3) ? [`exit ${dice.whole(0, 3)}`] : [])].join('; ');
  }

  #builtIn(earlier: readonly Earlier[]): JsonMap {
    const env = { place: this.#text(earlier), rows: '{{input.list}}', n: '{{add input.n 1}}', kept: { place: 'here' } };
    const one = this.#dice.some(Object.entries(env), 1);
    const command = this.#dice.chance(0.7) ? 'update_blackboard' : 'update_context';
    return { kind: 'System', command, env: Object.fromEntries(one) };
  }

  #human(earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const times: JsonMap = dice.chance(0.3) ? { timeout: '150ms' } : {};
    const falls: JsonMap =
      times.timeout !== undefined && dice.chance(0.7) ? { default_response: dice.pick(['yes', 'no']) } : {};
    return { kind: 'Human', prompt: this.#text(earlier), ...times, ...falls };
  }

  #agent(earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const marks = SCRIPT.map(({ mark }) => mark).filter((mark) => mark.startsWith('say-'));
    const mark = dice.pick([...marks, 'nothing']);
    const agent = dice.chance(0.1) ? 'not-deployed' : mark === 'say-noted' ? 'keeper' : 'teller';
    return { kind: 'Agent', agent, input: `${mark}: ${this.#text(earlier)}` };
  }

  #panel(earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const marks = SCRIPT.map(({ mark }) => mark).filter((mark) => mark.startsWith('judge-'));
    const agents = Array.from({ length: dice.whole(1, 4) }, (): JsonMap => {
      const weight: JsonMap = dice.chance(0.4) ? { weight: dice.whole(1, 3) } : {};
      return { agent: 'judge', input: `${dice.pick(marks)} ${this.#text(earlier)}`, ...weight };
    });
    const strategy = dice.pick(['weighted_average', 'majority', 'unanimous', 'best_of_n']);
    const n: JsonMap = strategy === 'best_of_n' ? { n: dice.whole(1, agents.length) } : {};
    const threshold: JsonMap = dice.chance(0.5) ? { threshold: dice.pick([0.3, 0.7, 0.9]) } : {};
    const least: JsonMap = dice.chance(0.3) ? { min_judges_required: agents.length } : {};
    return { kind: 'ParallelAgents', agents, consensus: { strategy, ...n, ...threshold, ...least } };
  }

  #call(earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const input = dice.pick<JsonMap>([
      {},
      { input: '{"n": {{input.n}}, "list": {{json input.list}}, "word": "from above", "deep": {"k": "v"} }' },
      { input: this.#text(earlier) },
    ]);
    const mode = dice.pick<JsonMap>([{}, { mode: 'blocking' }, { mode: 'fire_and_forget' }]);
    const key: JsonMap = dice.chance(0.5) ? { result_key: 'kept' } : {};
    return { kind: 'Subworkflow', workflow_id: dice.pick(this.#means.calls), ...input, ...mode, ...key };
  }

  /** Each step writes only to its own paths: concurrent steps must not use one file. */
  #container(own: string, earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const volumes = this.#means.shared.map((name): JsonMap => {
      return { name, mount_path: `/${name}`, ...(dice.chance(0.3) ? { read_only: true } : {}) };
    });
    const script = [
      this.#script([own, `/workspace/${own}`], own),
      ...volumes.map(
        ({ mount_path }) => `(printf '%s' "$A" > ${String(mount_path)}/${own}) 2>/dev/null || printf '%s' refused`,
      ),
    ];
    const written = dice.chance(0.5) ? script.reverse().join('; ') : script.join('; ');
    const command: JsonMap = dice.chance(0.5)
      ? { command: [written], shell: true }
      : { command: ['/bin/sh', '-c', written] };
    const env = { A: this.#text(earlier), B: this.#text(earlier) };
    const image = this.#means.image ?? '';
    return { image, ...command, env, ...(volumes.length === 0 ? {} : { volumes }) };
  }

  #retry(): JsonMap {
    return this.#dice.chance(0.4) ? { retry: { max_attempts: this.#dice.whole(2, 3) } } : {};
  }

  #containers(earlier: readonly Earlier[]): JsonMap {
    const dice = this.#dice;
    const names = ['one', 'two', 'three'].slice(0, dice.whole(1, 3));
    const steps = names.map((name): JsonMap => ({ name, ...this.#container(name, earlier) }));
    const completion = dice.pick<JsonMap>([{}, { completion: 'any_succeed' }, { completion: 'best_effort' }]);
    return { kind: 'ParallelContainerRun', steps, ...completion };
  }
}
