import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { listOf, textOf } from '../json.ts';
import { findingLines } from '../live-view-run.ts';
import { print } from '../output.ts';
import { readText } from '../read-input.ts';

/** `svc workflow validate FILE`: every finding with line, rule and cure; exit code 2 when there are errors. */
export function workflowValidate(workflow: Command): void {
  workflow
    .command('validate')
    .description('check a manifest without deploying it')
    .argument('<file>', 'YAML manifest; - for standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('POST', '/v1/workflows/validate', {
        body: { type: 'application/yaml', text: await readText(file, 'FILE') },
        repeatable: true,
      });
      const findings = listOf(answer, 'findings');
      const errors = findings.filter((finding) => textOf(finding, 'severity') === 'error').length;
      const verdict = `${file}: ${answer.valid === true ? 'valid' : 'not valid'}, ${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}`;
      const text = [...findingLines(answer, 'findings'), verdict].join('\n');
      const rows = { items: findings, columns: ['line', 'severity', 'rule', 'message', 'cure'] };
      await print(output, { value: answer, text, ...(output === 'table' ? { rows } : {}) });
      if (answer.valid !== true) throw new CliFailure(EXIT.validation, `the manifest has ${counted(errors, 'error')}`);
    });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
