import { useEffect, useId, useState } from 'react';
import { formatCount } from './format.ts';

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly change: (value: string) => void;
}

/** A single choice; the empty value means any. */
export function SelectFilter({ label, value, options, change }: SelectProps) {
  const id = useId();
  return (
    <span className="filter">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => change(event.target.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly change: (value: string) => void;
}

const PAUSE_MS = 250;

/** A text; it applies when the user stops typing. */
export function TextFilter({ label, value, placeholder, change }: TextProps) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (value !== last) {
    setLast(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => change(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value, change]);
  return (
    <span className="filter">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={placeholder}
        onChange={(event) => setTyped(event.target.value)}
      />
    </span>
  );
}

interface MoreProps {
  readonly fields: readonly (readonly [name: string, label: string, placeholder: string])[];
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Second argument: whether the change replaces the address, since each pause while typing makes one. */
  readonly change: (values: Readonly<Record<string, string>>, replaces: boolean) => void;
}

/** Text filters that are rarely used; folded while none is set. */
export function MoreFilters({ fields, values, change }: MoreProps) {
  return (
    <details open={fields.some(([name]) => (values[name] ?? '') !== '')}>
      <summary>More filters</summary>
      <div className="filters">
        {fields.map(([name, label, placeholder]) => (
          <TextFilter
            key={name}
            label={label}
            value={values[name] ?? ''}
            placeholder={placeholder}
            change={(value) => change({ [name]: value }, true)}
          />
        ))}
      </div>
    </details>
  );
}

/** Number of new rows; a click shows them. */
export function NewRows({ count, show }: { readonly count: number; readonly show: () => void }) {
  if (count === 0) return null;
  return (
    <button type="button" className="fresh" onClick={show}>
      {formatCount(count)} new
    </button>
  );
}
