import { validateWorkflow } from '../../catalog/manifest-work.ts';
import { type Plan, type Section, table } from '../report.ts';

const SIZES = [50, 200, 800];
const BAR_MS = 200;
const ROUNDS = 15;

/** A workflow with states of many kinds: a ring with short cuts, each state with templates that read others. */
function manifestOf(states: number): string {
  const lines = [
    'apiVersion: svc.dev/v1',
    'kind: Workflow',
    'metadata: { name: large, version: "1.0.0", input_schema: { type: object, properties: { topic: { type: string } } } }',
    'spec:',
    '  initial_state: s0',
    '  states:',
  ];
  for (let index = 0; index < states; index += 1) {
    const next = `s${(index + 1) % states}`;
    const back = `s${Math.floor(index / 2)}`;
    const last = index === states - 1;
    lines.push(
      ...(index % 2 === 0
        ? [
            `    s${index}:`,
            '      kind: Agent',
            '      agent: writer',
            `      input: "{{input.topic}} {{#if ${back}.output}}{{${back}.output}}{{/if}} {{blackboard.note}}"`,
            '      transitions:',
            `        - { condition: score_above, threshold: 0.8, target: ${next} }`,
            `        - { condition: on_success, target: ${back}, feedback: "{{s${index}.output}}" }`,
            `        - { target: s${states - 1} }`,
          ]
        : [
            `    s${index}:`,
            '      kind: ContainerRun',
            '      image: alpine:3',
            '      command: [build, "{{input.topic}}"]',
            `      env: { FROM: "{{${back}.output}}" }`,
            ...(last
              ? ['      transitions: []']
              : [
                  '      transitions:',
                  `        - { condition: exit_code_zero, target: ${next} }`,
                  `        - { condition: custom, expression: "s${index}.output.exit_code > 3", target: ${back} }`,
                  `        - { target: ${next} }`,
                ]),
          ]),
    );
  }
  return `${lines.join('\n')}\n`;
}

/** From the text of a workflow manifest to all findings: parsing, schema and every rule of the checker. */
export async function checker({ repetitions }: Plan): Promise<Section> {
  const rows = SIZES.map((states) => {
    const text = manifestOf(states);
    const times: number[] = [];
    const start = performance.now();
    const { findings } = validateWorkflow(text);
    const firstMs = performance.now() - start;
    for (let round = 0; round < ROUNDS * repetitions; round += 1) {
      const at = performance.now();
      validateWorkflow(text);
      times.push(performance.now() - at);
    }
    times.sort((a, b) => a - b);
    const medianMs = times[Math.floor(times.length / 2)] ?? 0;
    const bar = states === 200 ? (medianMs <= BAR_MS ? `≤ ${BAR_MS}: yes` : `≤ ${BAR_MS}: no`) : '';
    return [
      `${states}`,
      `${Math.round(text.length / 1_024)}`,
      `${findings.length}`,
      firstMs.toFixed(1),
      medianMs.toFixed(1),
      (times.at(-1) ?? 0).toFixed(1),
      bar,
    ];
  });
  return {
    title: 'Checking a workflow manifest: text to findings',
    text: table(['states', 'KiB', 'findings', 'first ms', 'median ms', 'slowest ms', 'bar'], rows),
  };
}
