import { type ReactNode, useEffect, useId, useRef } from 'react';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ReactNode;
}

/**
 * A modal dialog: the browser's own, which keeps the focus inside, closes on Escape, and needs no style that the policy of the
 * page would refuse.
 */
export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
    // Without this the browser focuses the first button, which closes the dialog; a user who opens a dialog with a
    // field wants to type.
    dialog.current?.querySelector<HTMLElement>('input, textarea')?.focus();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" className="plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
