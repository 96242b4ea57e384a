import { autocompletion, startCompletion } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { type JsonSchema, schemaCompletion } from './schema-completion.ts';

/** A problem at a position of the text; lines and columns start at 1. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

interface EditorProps {
  readonly label: string;
  readonly text: string;
  readonly change: (text: string) => void;
  /** Called when the user stops typing. */
  readonly check?: (text: string) => Promise<readonly Problem[]>;
  /** Schema for the completion of keys and values; null while it is read. */
  readonly schema?: JsonSchema | null;
}

const PAUSE_MS = 500;

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '12px' },
  '.cm-scroller': { fontFamily: 'var(--mono)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--quiet)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-soft)' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line-strong)' },
});

/** Colours of the page, so that both themes are readable. */
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.keyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.meta], color: 'var(--waits)' },
  { tag: [tags.comment, tags.separator, tags.punctuation], color: 'var(--quiet)' },
]);

/**
 * An editor for YAML. It lives in a shadow root: there CodeMirror uses constructed style sheets, which the policy of the page
 * allows; in the document it would make a `<style>` element.
 */
export function Editor({ label, text, change, check, schema = null }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const calls = useRef({ change, check, schema });
  calls.current = { change, check, schema };
  const first = useRef(text);
  const shown = useRef<EditorView>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const view = new EditorView({
      doc: first.current,
      root,
      parent: root,
      extensions: [
        basicSetup,
        syntaxHighlighting(colours),
        yaml(),
        autocompletion({ override: [schemaCompletion(() => calls.current.schema)] }),
        lintGutter(),
        linter(
          async ({ state: { doc } }) => {
            const problems = (await calls.current.check?.(doc.toString())) ?? [];
            return problems.map((problem): Diagnostic => {
              const line = doc.line(Math.min(Math.max(1, problem.line), doc.lines));
              const from = Math.min(line.from + Math.max(0, problem.column - 1), line.to);
              return { from, to: line.to, severity: problem.severity, message: problem.message };
            });
          },
          { delay: PAUSE_MS },
        ),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) calls.current.change(update.state.doc.toString());
        }),
        look,
      ],
    });
    shown.current = view;
    return () => view.destroy();
  }, [label]);
  // A user who types before the schema is loaded gets completions as soon as it is.
  useEffect(() => {
    const view = shown.current;
    if (schema !== null && view?.hasFocus && isInWord(view)) startCompletion(view);
  }, [schema]);
  return <div ref={host} className="editor" />;
}

function isInWord({ state }: EditorView): boolean {
  const { head } = state.selection.main;
  return /[\w-]/.test(state.sliceDoc(Math.max(0, head - 1), head));
}
