import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { usePages } from './navigation.ts';
import { Palette } from './palette.tsx';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.shadowRoot !== null);

/** The dialog that is open over the page. */
export type Over = 'search' | 'keys' | null;

interface KeysProps {
  readonly shown: Over;
  readonly setShown: (shown: Over) => void;
}

/** Keys that work on every page: `/` search, `g` and a letter for a page, `?` the list. */
export function Keys({ shown, setShown }: KeysProps) {
  const wentAt = useRef(0);
  const navigate = useNavigate();
  const groups = usePages();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector('dialog[open]') !== null) return;
      if (event.key === '/' || event.key === '?') {
        event.preventDefault();
        setShown(event.key === '/' ? 'search' : 'keys');
        return;
      }
      const page = groups.flatMap(({ pages }) => pages).find(({ key }) => key === event.key);
      if (event.key !== 'g' && page !== undefined && Date.now() - wentAt.current < 1_000)
        void navigate({ to: page.to });
      wentAt.current = event.key === 'g' ? Date.now() : 0;
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [groups, navigate, setShown]);
  if (shown === 'search') return <Palette close={() => setShown(null)} />;
  if (shown === 'keys') return <KeyList close={() => setShown(null)} />;
  return null;
}

const OTHER_KEYS = [
  ['/', 'search ids, names and commands'],
  ['?', 'this list'],
  ['j, k, ↑, ↓', 'next and previous row of a list'],
  ['Enter', 'open a row'],
  ['w, s', 'zoom a trace in and out'],
  ['a, d', 'move a trace left and right'],
  ['Esc', 'close a dialog, or drop the selection'],
] as const;

function KeyList({ close }: { readonly close: () => void }) {
  const groups = usePages();
  return (
    <Dialog title="Keys" close={close}>
      <dl className="keys">
        {OTHER_KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
        {groups
          .flatMap(({ pages }) => pages)
          .map(({ key, label }) => (
            <div key={key}>
              <dt>
                <kbd>g {key}</kbd>
              </dt>
              <dd>{label}</dd>
            </div>
          ))}
      </dl>
    </Dialog>
  );
}
