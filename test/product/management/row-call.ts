import assert from 'node:assert/strict';
import type { Row } from '../../tools/management/row.ts';
import { Setting } from '../../tools/management/setting.ts';
import type { Called, ToolClient } from './management-node.ts';

/** Creates the objects of rows, with a client. */
export const settingOf = (client: ToolClient, tenant: string): Setting =>
  new Setting(async (tool, args) => {
    const called = await client.call(tool, args);
    assert.equal(called.isError, false, `${client.name} ${tool}: ${called.text} ${called.reason ?? ''}`);
    return called.structured;
  }, tenant);

/** Makes the call of a row with a client, and asserts the result of the row. */
export async function callOf({ tool, args, gives, leaves }: Row, client: ToolClient, at: Setting): Promise<Called> {
  const given = typeof args === 'function' ? await args(at) : args;
  const called = await client.call(tool, given);
  const said = `${client.name}: ${JSON.stringify(called)}`;
  if (typeof gives === 'function') {
    assert.equal(called.isError, false, said);
    assert.deepEqual(JSON.parse(called.text), called.structured, 'the text is the result as JSON');
    await gives(called.structured, given, at);
    return called;
  }
  const [code, text] = gives;
  assert.equal(called.isError, true, said);
  assert.ok(called.text.startsWith(`${code}: `), said);
  assert.match(called.text.slice(code.length + 2), text);
  await leaves?.(given, at);
  return called;
}
