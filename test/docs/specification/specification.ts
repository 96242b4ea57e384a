import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;

/** A row of one of the three documents: a field, a tool, an argument, an error, a limit, a rule. */
interface SpecificationRow {
  /** Document, section and name, such as `1.SvcRuntime-messages.ExecuteAgentRequest.agent_id`. */
  readonly id: string;
  readonly text: string;
}

interface ShownBy {
  readonly file: string;
  readonly title: string;
}

interface Mapping {
  readonly patterns: readonly RegExp[];
  readonly tests: readonly ShownBy[];
}

export const DOCUMENTS = [
  { number: 1, name: 'gRPC' },
  { number: 2, name: 'REST' },
  { number: 3, name: 'Workflows and tools' },
] as const;

export const pageOf = (document: number): string => `docs/conformance/document-${document}.md`;

const linesOf = (file: string): string[] =>
  readFileSync(join(HERE, file), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));

/** The rows of a document, in its order. */
export const rowsOf = (document: number): SpecificationRow[] =>
  linesOf(`document-${document}.txt`).map((line) => {
    const [id = '', text = ''] = line.split('\t');
    return { id, text };
  });

const asRegExp = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);

function readMappings(): Mapping[] {
  const mappings: { patterns: RegExp[]; tests: ShownBy[] }[] = [];
  for (const line of linesOf('shown.txt')) {
    if (!line.startsWith(' ')) mappings.push({ patterns: line.split(' ').map(asRegExp), tests: [] });
    else {
      const [file = '', title = ''] = line.trim().split(' | ');
      mappings.at(-1)?.tests.push({ file, title });
    }
  }
  return mappings;
}

export const mappings: readonly Mapping[] = readMappings();

/** The tests that show a row; none where nothing is known of it. */
export function shownBy({ id }: SpecificationRow): ShownBy[] {
  const found = mappings.filter(({ patterns }) => patterns.some((pattern) => pattern.test(id)));
  const tests = new Map(found.flatMap(({ tests }) => tests).map((one) => [`${one.file} ${one.title}`, one]));
  return [...tests.values()];
}

/** The page of a document: every row, and the numbers of the tests that show it. */
export function pageText(document: (typeof DOCUMENTS)[number]): string {
  const rows = rowsOf(document.number);
  const numbers = new Map<string, number>();
  const tests: ShownBy[] = [];
  const numberOf = (test: ShownBy): number => {
    const key = `${test.file} ${test.title}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    tests.push(test);
    numbers.set(key, tests.length);
    return tests.length;
  };
  const lines: string[] = [];
  let section = '';
  for (const row of rows) {
    const [, name = ''] = row.id.split('.');
    if (name !== section) lines.push('', `## ${name.replaceAll('-', ' ')}`, '', '| Row | Tests |', '|---|---|');
    section = name;
    const shown = shownBy(row).map((test) => String(numberOf(test)));
    lines.push(`| ${cell(row.text)} | ${shown.length === 0 ? '**none**' : shown.join(', ')} |`);
  }
  const without = rows.filter((row) => shownBy(row).length === 0).length;
  return [
    `# Document ${document.number}, ${document.name}, row by row`,
    '',
    `Generated from \`test/docs/specification\` by \`npm run conformance\`. ${rows.length} rows, ${without} without a test.`,
    'The numbers are those of the tests at the end; `…` stands for a value that a title takes from its case.',
    ...lines,
    '',
    '## Tests',
    '',
    ...tests.map(({ file, title }, at) => `${at + 1}. [“${title.replaceAll('*', '\\*')}”](../../${file})`),
    '',
  ].join('\n');
}

/** As text in a table: what would be HTML, a column or a template of the page is none. */
const cell = (text: string): string =>
  text
    .split('`')
    .map((part, at) => (at % 2 === 1 ? `\`${part}\`` : part.replaceAll('*', '\\*').replaceAll('<', '&lt;')))
    .join('')
    .replaceAll('|', '\\|');
