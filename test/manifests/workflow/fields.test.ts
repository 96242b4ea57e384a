import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { parseWorkflowManifest } from '../../../manifests/workflow/parse.ts';
import { STATES, valueAt, withValue, workflowDoc } from './document.ts';
import { FIELD_RULES, type FieldRule } from './field-rules.ts';

const placeOf = ({ on, field }: FieldRule) => (on === 'top' ? field : `spec.states.s.${field}`);

function textOf(rule: FieldRule, value: unknown): string {
  const doc = workflowDoc({ s: STATES[rule.on === 'top' ? 'System' : rule.on] });
  return stringify(withValue(doc, placeOf(rule), value), { aliasDuplicateObjects: false });
}

const asPath = (place: string) => place.replaceAll(/\.(\d+)/g, '[$1]');
const shown = (value: unknown) => (value === undefined ? 'absent' : JSON.stringify(value).slice(0, 70));

for (const rule of FIELD_RULES) {
  describe(`${rule.on} ${rule.field}`, () => {
    for (const [written, out] of rule.accepts) {
      it(`takes ${shown(written)}`, () => {
        const parsed = parseWorkflowManifest(textOf(rule, written));
        assert.ok(parsed.ok, JSON.stringify(parsed));
        const place = rule.out === undefined ? placeOf(rule) : placeOf({ ...rule, field: rule.out });
        const value = valueAt(parsed.manifest, place);
        if (typeof out === 'object' && out !== null && !Array.isArray(out)) {
          for (const [key, inner] of Object.entries(out)) assert.deepEqual(valueAt(value, key), inner);
        } else assert.deepEqual(value, out);
      });
    }
    for (const [written, message, at] of rule.refuses) {
      it(`refuses ${shown(written)} ${at === undefined ? '' : `at ${at}`}`, () => {
        const text = textOf(rule, written);
        const parsed = parseWorkflowManifest(text);
        assert.ok(!parsed.ok, 'expected a refusal');
        const own = asPath(placeOf(rule));
        const path = at === undefined ? own : rule.on === 'top' ? at : `spec.states.s.${at}`;
        const found = parsed.problems.find((problem) => problem.path === path && message.test(problem.message));
        assert.ok(found, `no problem at ${path} like ${message}: ${JSON.stringify(parsed.problems)}`);
        assert.equal(lineKey(text, found.line), lastKey(text, path), text);
      });
    }
  });
}

/** The key, or the list entry, that begins on a line. */
const lineKey = (text: string, line: number): string =>
  (text.split('\n')[line - 1] ?? '')
    .trim()
    .replace(/^(- )+/, '')
    .split(':')[0] ?? '';

/** What must begin on the line of a problem: its own key, or that of the nearest container that is written. */
function lastKey(text: string, path: string): string {
  const parts = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const doc: unknown = parse(text);
  while (parts.length > 1 && valueAt(doc, parts.join('.')) === undefined) parts.pop();
  const last = parts.at(-1) ?? '';
  if (!/^\d+$/.test(last))
    return valueAt(doc, parts.join('.')) === undefined ? (Object.keys(Object(doc))[0] ?? '') : last;
  const entry = valueAt(doc, parts.join('.'));
  return typeof entry === 'object' && entry !== null ? (Object.keys(entry)[0] ?? '{}') : JSON.stringify(entry);
}
