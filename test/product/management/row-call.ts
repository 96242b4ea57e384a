import assert from 'node:assert/strict';
import type { Row } from '../../tools/management/row.ts';
import { Setting } from '../../tools/management/setting.ts';
import type { Called, ToolDoor } from './management-node.ts';

/** What rows need to be there, made through a door. */
export const settingOf = (door: ToolDoor, tenant: string): Setting =>
  new Setting(async (tool, args) => {
    const called = await door.call(tool, args);
    assert.equal(called.isError, false, `${door.name} ${tool}: ${called.text} ${called.reason ?? ''}`);
    return called.structured;
  }, tenant);

/** The call of a row through a door, asserted to come out as the row says. */
export async function callOf({ tool, args, gives, leaves }: Row, door: ToolDoor, at: Setting): Promise<Called> {
  const given = typeof args === 'function' ? await args(at) : args;
  const called = await door.call(tool, given);
  const said = `${door.name}: ${JSON.stringify(called)}`;
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
