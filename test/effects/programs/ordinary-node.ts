import { programsUnderTest } from '../../support/program-under-test.ts';
import { sandboxFor } from '../../support/sandbox.ts';

/**
 * A node in a separate process, of the user that runs it: prints the answer of the gateway to a program in a sandbox.
 */
const [, , workspaces] = process.argv;
if (workspaces === undefined) throw new Error('usage: ordinary-node.ts WORKSPACES');
const { sandbox, reason } = await sandboxFor(workspaces);
if (sandbox === null) throw new Error(reason);
const setup = await programsUnderTest({
  ...{ workspaces, view: sandbox },
  nodeVariables: async () => ({
    ...{ variables: {}, secrets: [] },
    listener: { port: 8_081, accept: (connection) => connection.end('the gateway\n') },
  }),
});
const path = await setup.script('#!/bin/bash\nexec 5<>/dev/tcp/127.0.0.1/8081 && cat <&5; ls /dev\n');
const { stdout, stderr } = await setup.run({ path });
process.stdout.write(stdout);
process.stderr.write(stderr);
await setup.close();
