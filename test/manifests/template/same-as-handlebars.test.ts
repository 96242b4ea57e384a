import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Handlebars from 'handlebars';
import { checkTemplate, templateReferences } from '../../../manifests/template/references.ts';
import { renderTemplate } from '../../../manifests/template/rendering.ts';
import { TemplateError } from '../../../manifests/template/tree.ts';
import { sample } from '../../support/size.ts';

const SCOPE = {
  a: { b: { c: 'deep' }, list: ['x', 'y'] },
  list: [
    { name: 'n1', on: true },
    { name: 'n2', on: false },
  ],
  empty: [],
  yes: true,
  no: false,
  zero: 0,
  text: 'plain text',
};

/** Paths that exist from everywhere, because missing ones are where the two differ on purpose. */
const path = fc.constantFrom(
  '@root.a.b.c',
  '@root.text',
  '@root.zero',
  '@root.yes',
  '@root.list.0.name',
  '@root.a.list.length',
);
const subject = fc.constantFrom(
  '@root.a.b',
  '@root.list',
  '@root.empty',
  '@root.yes',
  '@root.no',
  '@root.zero',
  '@root.text',
  '@root.a.list',
);
const text = fc.constantFrom('x', ' ', '\n', '  \n', '\r\n', '\\{{x}}', ' } ', '"');

const { template } = fc.letrec<{ template: string; block: string }>((tie) => ({
  template: fc
    .array(
      fc.oneof(
        { depthSize: 'small' },
        text,
        path.map((p) => `{{${p}}}`),
        path.map((p) => `{{~{${p}}~}}`.replace('{{~{', '{{~').replace('}~}}', '~}}')),
        tie('block'),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join('')),
  block: fc
    .tuple(
      fc.constantFrom('if', 'unless', 'each', 'with', ''),
      subject,
      tie('template'),
      fc.option(tie('template')),
      fc.boolean(),
    )
    .map(([kind, of, body, otherwise, newline]) => {
      const end = newline ? '\n' : '';
      const open = kind === '' ? `#${of}` : `#${kind} ${of}`;
      const inverse = otherwise === null ? '' : `{{else}}${end}${otherwise}`;
      const loop = kind === 'each' ? '{{@index}}{{@key}}{{#if @first}}f{{/if}}' : '';
      return `{{${open}}}${end}${loop.replace('{{@key}}', '')}${body}${inverse}{{/${kind === '' ? of : kind}}}${end}`;
    }),
}));

test('templates over data without gaps render what Handlebars renders', () => {
  const other = Handlebars.create();
  // Without `noEscape`: with it Handlebars adds neighbouring numbers up instead of writing them.
  fc.assert(
    fc.property(template, (source) => {
      const expected = other.compile(source)(SCOPE);
      assert.equal(renderTemplate(source, SCOPE, { state: 'S', maxChars: 1_000_000 }), expected);
    }),
    { numRuns: sample({ normal: 40, long: 400 }) },
  );
});

const piece = fc.constantFrom(
  '{{',
  '}}',
  '{{{',
  '}}}',
  '#',
  '/',
  '^',
  'if',
  'each',
  'else',
  'a',
  '.',
  '0',
  '[',
  ']',
  '(',
  ')',
  '"',
  "'",
  '\\',
  '~',
  '!',
  '--',
  '@',
  '..',
  'this',
  '|',
  'as',
  '=',
  ' ',
  '\n',
  '>',
  '*',
  '&',
  'default',
  'upper',
  '__proto__',
);

test('any text is a template or is reported, and never throws anything else', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 30 }).map((p) => p.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (source) => {
        const fault = checkTemplate(source);
        if (fault === null) {
          for (const { offset } of templateReferences(source)) assert.ok(offset >= 0 && offset < source.length);
          renderTemplate(source, SCOPE, { state: 'S', maxChars: 100_000 });
        } else {
          assert.throws(() => renderTemplate(source, SCOPE, { state: 'S', maxChars: 100_000 }), TemplateError);
        }
      },
    ),
    { numRuns: sample({ normal: 200, long: 2_000 }) },
  );
});
