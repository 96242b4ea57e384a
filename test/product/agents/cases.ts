import type { Rule } from '../../support/node-config.ts';
import type { Members } from './agent-node.ts';

/** One agent: the answers of its model by round, and its manifest except the isolation. */
export interface AgentCase {
  readonly name: string;
  /** Rules of this agent alone, in their order. */
  readonly rules: readonly Rule[];
  readonly spec?: Members;
  /** Status in the end; default `completed`. */
  readonly status?: 'completed' | 'failed' | 'cancelled';
  /** It is cancelled when this text has been streamed, and this file is in the workspace. */
  readonly cancelAt?: { readonly output: string; readonly file?: string };
  /** An event or a record that must be there, since the case is about it. */
  readonly shows?: RegExp;
}

type Call = readonly [name: string, args: Members];

const calls = (...given: readonly Call[]): readonly Members[] =>
  given.map(([name, args], at) => ({ id: `c${at + 1}`, name, arguments: args }));
const sh = (script: string): Call => ['cmd.run', { command: 'sh', args: ['-c', script] }];
const ask = (round: number, text: string, ...given: readonly Call[]): Rule => ({
  match: { round },
  reply: { text, tool_calls: calls(...given) },
});
/** The model reads the result of each tool: an unexpected one meets the last rule. */
const onResult = (tool_contains: string | readonly string[], reply: unknown = 'as expected'): Rule => ({
  match: { tool_contains },
  reply,
});
const otherwise: Rule = { reply: 'not as expected' };

const COMMANDS = {
  name: 'cmd.run',
  executor: 'builtin:cmd',
  config: { subcommand_allowlist: { sh: [], 'no-such': [] } },
};
const tools = (config: Members = {}): Members => ({
  tools: ['fs.*', { ...COMMANDS, config: { ...COMMANDS.config, ...config } }],
});
const sentences = Array.from({ length: 60 }, (_, at) => `Sentence ${at} of a long answer. `);

export const CASES: readonly AgentCase[] = [
  { name: 'one-answer', rules: [{ reply: { text: 'forty-two', usage: { input_tokens: 7, output_tokens: 3 } } }] },
  { name: 'one-answer-with-tools', spec: tools(), rules: [{ reply: 'no tool is needed' }] },
  {
    name: 'rounds',
    spec: tools(),
    rules: [
      ask(1, 'First I write. ', ['fs.write', { path: 'a/notes.txt', content: 'one\ntwo\n' }]),
      ask(2, 'Then I look. ', ['fs.read', { path: '/workspace/a/notes.txt' }]),
      ask(3, '', ['fs.edit', { path: 'a/notes.txt', target_content: 'two', replacement_content: 'three' }]),
      ask(4, 'And count. ', sh('wc -l < a/notes.txt; cat a/notes.txt > copy.txt')),
      ask(5, '', ['fs.list', { path: '/' }]),
      onResult(['a/', 'copy.txt'], { text: 'All is done.', usage: { input_tokens: 100, output_tokens: 9 } }),
      otherwise,
    ],
  },
  {
    name: 'command',
    spec: tools(),
    rules: [
      ask(1, '', sh('echo out; echo err >&2; pwd; id -u >/dev/null; printf kept > file')),
      onResult(['"stdout":"out\\n/workspace\\n"', '"stderr":"err\\n"', '"exit_code":0']),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-fails',
    spec: tools(),
    rules: [ask(1, '', sh('echo bad >&2; exit 7')), onResult('"exit_code":7'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-not-allowed',
    spec: tools(),
    rules: [
      ask(1, '', ['cmd.run', { command: 'git', args: ['status'] }]),
      onResult('Error CommandNotAllowed'),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-not-there',
    spec: tools(),
    rules: [ask(1, '', ['cmd.run', { command: 'no-such', args: [] }]), onResult('Error CommandNotFound'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-too-long',
    spec: tools({ timeout_ceiling_secs: 3 }),
    rules: [ask(1, '', sh('echo began; exec sleep 20')), onResult('Error ExecTimeoutCeilingExceeded'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-too-much',
    spec: tools({ max_output_bytes: 4_000 }),
    rules: [
      ask(1, '', sh('i=0; while [ $i -lt 3000 ]; do echo line; i=$((i+1)); done')),
      onResult('Error OutputSizeLimitExceeded'),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-much-on-one-stream',
    spec: tools({ max_output_bytes: 4_000 }),
    rules: [ask(1, '', sh('printf %03000d 7')), onResult('00007","stderr":"","exit_code":0'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-large-result',
    spec: tools(),
    rules: [
      ask(1, '', sh('printf BEGIN; printf %090000d 7; printf END')),
      onResult(['BEGIN0', '07END","stderr":"","exit_code":0']),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-odd-bytes',
    spec: tools(),
    rules: [ask(1, '', sh("printf 'a\\377b\\000c\\n\\n'; printf ' x \\n' >&2")), onResult('"exit_code":0'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'command-environment',
    spec: { ...tools(), env: { GREETING: 'hello', API_KEY: 'literal:swordfish' } },
    rules: [
      ask(1, '', sh('echo "[$GREETING][$API_KEY][$SVC_ORCHESTRATOR_URL][$SVC_AGENT_ID][$HOME][$LANG]"')),
      onResult('[][][][][/workspace][C.UTF-8]'),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'refused-tool',
    spec: { tools: ['fs.read'] },
    rules: [
      ask(1, 'I try. ', ['fs.write', { path: 'x', content: 'y' }], ['fs.read', { path: '../x' }], ['nothing', {}]),
      onResult('Error ToolNotAllowed', 'I may not.'),
      otherwise,
    ],
    shows: /"final_output":"I may not/,
  },
  {
    name: 'bad-arguments',
    spec: tools(),
    rules: [ask(1, '', ['fs.write', { path: 7 }]), onResult('Error InvalidArguments'), otherwise],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'several-calls-a-turn',
    spec: tools(),
    rules: [
      ask(
        1,
        'All at once. ',
        ['fs.write', { path: '1', content: 'one' }],
        sh('cat 1; echo two > 2'),
        ['fs.read', { path: '2' }],
        ['fs.read', { path: '1' }],
        sh('cat 1 2 > 3'),
        ['fs.read', { path: '3' }],
      ),
      onResult('onetwo'),
      otherwise,
    ],
    shows: /"final_output":"as expected/,
  },
  {
    name: 'validated',
    spec: {
      ...tools(),
      execution: { max_iterations: 3, validation: [{ type: 'regex', pattern: '^\\{.*\\}$' }] },
    },
    rules: [
      { match: { iteration: 1, round: 1 }, reply: { text: '', tool_calls: calls(sh('echo 1 > tried')) } },
      { match: { iteration: 1 }, reply: 'here: {"a": 1}' },
      { match: { iteration: 2, round: 1 }, reply: { text: 'x', tool_calls: calls(sh('cat tried; echo 2 >> tried')) } },
      { match: { tool_contains: '1\\n' }, reply: '{"a": 1}' },
      otherwise,
    ],
    shows: /refinement_applied/,
  },
  {
    name: 'never-valid',
    spec: { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^yes$' }] } },
    rules: [{ match: { iteration: 2 }, reply: 'still no' }, { reply: 'no' }],
    status: 'failed',
    shows: /max_iterations_exceeded/,
  },
  {
    name: 'many-chunks',
    rules: [{ reply: { chunks: sentences, delay_ms: 3 } }],
    shows: /Sentence 59 of a long answer\. "/,
  },
  { name: 'empty-output', rules: [{ reply: '' }] },
  {
    name: 'odd-output',
    rules: [{ reply: { text: ' it\'s "q" $(x) `y` \\n \u0000\u0001\u001b[0m ü \u{1F980} \ufeff\r\n\n\n' } }],
  },
  { name: 'large-output', rules: [{ reply: { text: `${'0123456789abcdef'.repeat(12_800)}\n`, chunks: 20 } }] },
  {
    name: 'model-fails',
    rules: [{ reply: { error: { status: 400, message: 'no' } } }],
    spec: { execution: { max_iterations: 1 } },
    status: 'failed',
  },
  {
    name: 'model-fails-behind-a-tool',
    rules: [ask(1, 'So. ', sh('echo x > x')), { reply: { error: { status: 400, message: 'no' } } }],
    spec: { ...tools(), execution: { max_iterations: 1 } },
    status: 'failed',
  },
  {
    name: 'iteration-timeout',
    rules: [
      { match: { iteration: 2 }, reply: 'quick' },
      { reply: { text: 'slow', chunks: ['a', 'b'], delay_ms: 30_000 } },
    ],
    // The second iteration must start a container within its time, on a machine with other work.
    spec: { execution: { max_iterations: 2, iteration_timeout: '9s' } },
    shows: /iteration_timed_out/,
  },
  {
    name: 'cancelled-while-it-speaks',
    rules: [{ reply: { chunks: ['begun', ' never'], delay_ms: 6_000 } }],
    cancelAt: { output: 'begun' },
    status: 'cancelled',
  },
  {
    name: 'cancelled-while-a-command-runs',
    rules: [ask(1, 'Running. ', sh('echo 1 > began; sleep 60')), otherwise],
    spec: tools(),
    cancelAt: { output: 'Running. ', file: 'began' },
    status: 'cancelled',
  },
];
