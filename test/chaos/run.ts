/**
 * npm run chaos [-- SCENARIO …]: every promise of the fleet at full size, with one report for each (`--small`: the size of the
 * tests). SVC_SEED repeats a run's choices; SVC_KILLS is the number of kills of `kill-sqlite`, `kill-redis`, `workflows` and
 * `tools`. Ends with code 1 when a promise was broken.
 */
import { runChaos } from '../kill/chaos.ts';
import { checkOutcome } from '../kill/checks.ts';
import { seedOf } from '../kill/random.ts';
import { reportLines } from '../kill/report.ts';
import type { StoreKind } from '../kill/stores.ts';
import * as sizes from './options.ts';
import { reportText, type ScenarioReport } from './report.ts';
import { churn } from './scenarios/churn.ts';
import { programsUnderKills } from './scenarios/programs-under-kills.ts';
import { registerUnderFaults } from './scenarios/register-under-faults.ts';
import { retentionSoak } from './scenarios/retention-soak.ts';
import { rolling } from './scenarios/rolling.ts';
import { scale } from './scenarios/scale.ts';
import { stepsUnderKills } from './scenarios/steps-under-kills.ts';
import { type Death, takeover } from './scenarios/takeover.ts';
import { DOCKER, PROCESS, smallTools, toolsUnderKills, wholeTools } from './tools-under-kills.ts';
import { smallWorkflows, wholeWorkflows, workflowsUnderKills } from './workflows-under-kills.ts';

interface Scenario {
  /** Returns one report for each repetition. */
  readonly repeats: number;
  run(seed: number, isSmall: boolean): Promise<ScenarioReport>;
}

/** Number of repetitions of the nightly job. */
const REGISTER_RUNS = 20;

const takeoverOf = (death: Death, watched: boolean): Scenario => ({
  repeats: 1,
  run: (seed, isSmall) => takeover((isSmall ? sizes.smallTakeover : sizes.wholeTakeover)(death, watched, seed)),
});

const killsOf = (kind: StoreKind): Scenario => ({
  repeats: 1,
  async run(seed, isSmall) {
    const options = { kind, kills: isSmall ? 20 : Number(process.env.SVC_KILLS ?? 200), seed, atATime: 12 };
    const outcome = await runChaos(options);
    const [title = kind, ...lines] = reportLines(options, outcome, checkOutcome(outcome));
    return { title: `one node under kills, ${title}`, seed, lines: lines.map((line) => line.slice(2)), broken: [] };
  },
});

const toolsOf = (store: StoreKind, agents: readonly string[]): Scenario => ({
  repeats: 1,
  run: (seed, isSmall) => toolsUnderKills((isSmall ? smallTools : wholeTools)(seed, { store, agents })),
});

const retentionOf = (store: StoreKind): Scenario => ({
  repeats: 1,
  run: (seed, small) => retentionSoak((small ? sizes.smallRetention : sizes.wholeRetention)(store, seed)),
});

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'takeover-kill': takeoverOf('kill', true),
  'takeover-kill-by-lease': takeoverOf('kill', false),
  'takeover-restart': takeoverOf('restart', true),
  'takeover-freeze': takeoverOf('freeze', true),
  steps: {
    repeats: 1,
    run: (seed, small) => stepsUnderKills(small ? sizes.smallSteps('repeatable', seed) : sizes.wholeSteps(seed)),
  },
  'steps-once': {
    repeats: 1,
    run: (seed, small) =>
      stepsUnderKills(small ? sizes.smallSteps('once', seed) : { ...sizes.wholeSteps(seed), mode: 'once' }),
  },
  'steps-one-kill': {
    repeats: 1,
    run: (seed, small) =>
      stepsUnderKills({ ...sizes.wholeStepsOneKill(seed), ...(small ? { runs: 20, barMs: null } : {}) }),
  },
  programs: {
    repeats: 1,
    run: (seed, small) => programsUnderKills(small ? sizes.smallPrograms(seed) : sizes.wholePrograms(seed)),
  },
  register: {
    repeats: REGISTER_RUNS,
    run: (seed, small) => registerUnderFaults(small ? sizes.smallRegister(seed) : sizes.wholeRegister(seed)),
  },
  churn: { repeats: 1, run: (seed, small) => churn(small ? sizes.smallChurn(seed) : sizes.wholeChurn(seed)) },
  rolling: { repeats: 1, run: (seed, small) => rolling(small ? sizes.smallRolling(seed) : sizes.wholeRolling(seed)) },
  scale: { repeats: 1, run: (seed, small) => scale(small ? sizes.smallScale(seed) : sizes.wholeScale(seed)) },
  workflows: {
    repeats: 1,
    run: (seed, small) => workflowsUnderKills(small ? smallWorkflows(seed) : wholeWorkflows(seed)),
  },
  tools: toolsOf('sqlite', PROCESS),
  'tools-redis': toolsOf('redis', PROCESS),
  'tools-docker': toolsOf('redis', DOCKER),
  'retention-sqlite': retentionOf('sqlite'),
  'retention-redis': retentionOf('redis'),
  'kill-sqlite': killsOf('sqlite'),
  'kill-redis': killsOf('redis'),
};

const args = process.argv.slice(2);
const isSmall = args.includes('--small');
const names = args.filter((arg) => !arg.startsWith('--'));
const unknown = names.filter((name) => SCENARIOS[name] === undefined);
if (unknown.length > 0) {
  console.error(`no scenario ${unknown.join(', ')}; there are: ${Object.keys(SCENARIOS).join(', ')}`);
  process.exit(2);
}
const firstSeed = seedOf(process.env);
console.log(`SVC_SEED=${firstSeed}`);
for (const [name, { repeats, run }] of Object.entries(SCENARIOS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (let repeat = 0; repeat < (isSmall ? 1 : repeats); repeat += 1) {
    const begun = performance.now();
    // A failed scenario must not prevent the others.
    const text = await run(firstSeed + repeat, isSmall).then(
      (report) => {
        if (report.broken.length > 0) process.exitCode = 1;
        return reportText(report);
      },
      (error: unknown) => {
        process.exitCode = 1;
        return `BROKEN: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
    console.log(`\n[${name}] ${Math.round((performance.now() - begun) / 1_000)} s\n${text}`);
  }
}
