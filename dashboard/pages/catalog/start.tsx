import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { api } from '../../api/queries.ts';
import { useMay } from '../../app/session.ts';
import { plainLine, plainText } from '../../parts/format.ts';
import { Failure } from '../../parts/notice.tsx';

type Value = string | number | boolean;

interface Field {
  readonly name: string;
  readonly type: 'text' | 'number' | 'boolean' | 'choice';
  readonly choices: readonly string[];
  readonly note: string;
  readonly isRequired: boolean;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields of an input schema that fit a form; null when one is nested: then the input is entered as JSON. */
function fieldsOf(manifest: unknown): readonly Field[] | null {
  const metadata = isRecord(manifest) && isRecord(manifest.metadata) ? manifest.metadata : {};
  const schema = isRecord(metadata.input_schema) ? metadata.input_schema : {};
  if (!isRecord(schema.properties)) return null;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(schema.properties).map(([name, property]) =>
    fieldOf(name, property, required.includes(name)),
  );
  return fields.every((field) => field !== null) ? fields : null;
}

function fieldOf(name: string, property: unknown, isRequired: boolean): Field | null {
  if (!isRecord(property)) return null;
  const note = typeof property.description === 'string' ? property.description : '';
  const base = { name, note, isRequired, choices: [] };
  if (Array.isArray(property.enum) && property.enum.every((one) => typeof one === 'string'))
    return { ...base, type: 'choice', choices: property.enum };
  if (property.type === 'string') return { ...base, type: 'text' };
  if (property.type === 'integer' || property.type === 'number') return { ...base, type: 'number' };
  return property.type === 'boolean' ? { ...base, type: 'boolean' } : null;
}

interface StartFormProps {
  readonly kind: 'agent' | 'workflow';
  readonly id: string;
  readonly version: string;
  readonly manifest: unknown;
}

/** Starts a run. The fields follow the input schema; other input is entered as text or JSON. */
export function StartForm({ kind, id, version, manifest }: StartFormProps) {
  const may = useMay();
  const navigate = useNavigate();
  const [intent, setIntent] = useState('');
  const [json, setJson] = useState('{}');
  const [values, setValues] = useState<Readonly<Record<string, Value>>>({});
  const fields = fieldsOf(manifest);
  const start = useMutation({
    mutationFn: async () => {
      const input: Readonly<Record<string, unknown>> = fields === null ? JSON.parse(json) : values;
      const common = { intent: intent || undefined, input, version: version || undefined };
      return kind === 'agent' ? api.agents.execute({ id, ...common }) : api.workflows.run({ name: id, ...common });
    },
    onSuccess: ({ execution_id }) =>
      navigate({
        to: '/runs/$kind/$id',
        params: { kind: kind === 'agent' ? 'execution' : 'workflow', id: execution_id },
      }),
  });
  if (!may('run')) return <p className="quiet">Your role may not start runs.</p>;
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <label className="field">
        {kind === 'agent' ? 'What it should do' : 'Goal (optional)'}
        <textarea rows={2} value={intent} onChange={(event) => setIntent(event.target.value)} />
      </label>
      {fields === null ? (
        <label className="field">
          Input as JSON
          <textarea rows={4} value={json} spellCheck={false} onChange={(event) => setJson(event.target.value)} />
        </label>
      ) : (
        fields.map((field) => (
          <InputField
            key={field.name}
            field={field}
            value={values[field.name]}
            change={(value) => {
              const { [field.name]: _old, ...others } = values;
              setValues(value === '' ? others : { ...others, [field.name]: value });
            }}
          />
        ))
      )}
      {start.error !== null && <Failure error={start.error} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={start.isPending}>
          Start
        </button>
      </div>
    </form>
  );
}

interface InputFieldProps {
  readonly field: Field;
  readonly value: Value | undefined;
  readonly change: (value: Value) => void;
}

function InputField({ field: { name, type, choices, note, isRequired }, value, change }: InputFieldProps) {
  const id = useId();
  const text = value === undefined ? '' : String(value);
  return (
    <div className="field">
      <label htmlFor={id}>
        {plainLine(name, 80)} {note !== '' && <span className="quiet">{plainText(note)}</span>}
      </label>
      {type === 'text' && (
        <input id={id} required={isRequired} value={text} onChange={(event) => change(event.target.value)} />
      )}
      {type === 'number' && (
        <input
          id={id}
          type="number"
          step="any"
          required={isRequired}
          value={text}
          onChange={(event) => change(event.target.value === '' ? '' : event.target.valueAsNumber)}
        />
      )}
      {type === 'boolean' && (
        <input id={id} type="checkbox" checked={value === true} onChange={(event) => change(event.target.checked)} />
      )}
      {type === 'choice' && (
        <select id={id} required={isRequired} value={text} onChange={(event) => change(event.target.value)}>
          <option value="">choose</option>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </div>
  );
}
