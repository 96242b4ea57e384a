import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, textOf, textsOf } from '../../json.ts';
import { isForMachines, print } from '../../output.ts';

/** `svc whoami`: who calls, and what the caller may do. */
export function whoami(program: Command): void {
  program
    .command('whoami')
    .description('show who you are on the node, and what you may do')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const me = await client.json('GET', '/v1/me', { repeatable: true });
      const key = isObject(me.key) ? `${textOf(me.key, 'id')} (${textsOf(me.key, 'scopes').join(', ')})` : '-';
      const shown = {
        subject: me.subject,
        kind: me.kind,
        tenant: me.tenant,
        roles: textsOf(me, 'roles').join(', ') || '-',
        tier: me.tier,
        actions: textsOf(me, 'actions').join(', ') || '-',
        'API key': key,
      };
      await print(output, { value: isForMachines(output) ? me : shown });
    });
}
