/** A model that knows its lines: what it says and which tools it calls, turn by turn. */

/** One answer of the model. */
export interface Answer {
  readonly think?: string;
  readonly say: string;
  /** A call of a tool, with what the tool will answer. */
  readonly tool?: { readonly name: string; readonly input: Readonly<Record<string, string>>; readonly output: string; readonly failed?: boolean };
}

export const HEADER = {
  config: { model: 'scripted-1', contextWindow: 4000 },
  system: 'You are the gardener of a small weather station.\nLook at the instruments before you answer.',
  tools: [
    { name: 'read_sensor', description: 'Reads an instrument.', parameters: { type: 'object', properties: { sensor: { type: 'string' } } } },
    { name: 'write_note', description: 'Writes a note of the day.', parameters: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' } } } },
  ],
};

const HISTORY = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, '0')}:00  ${(6 + 7 * Math.sin(((hour - 8) / 24) * 2 * Math.PI)).toFixed(1)} °C  ${60 + ((hour * 7) % 30)} %`).join('\n');

export const TURNS: readonly { readonly prompt: string; readonly answers: readonly Answer[] }[] = [
  {
    prompt: 'Will the seedlings be safe tonight?',
    answers: [
      { think: 'Frost is what matters. The thermometer first.', say: 'I read the thermometer of the last day.', tool: { name: 'read_sensor', input: { sensor: 'temperature' }, output: HISTORY } },
      { say: 'The night before went down to **-1.0 °C** at two in the morning. Unless clouds come, cover them.' },
    ],
  },
  {
    prompt: 'And the wind?',
    answers: [
      { say: 'The anemometer.', tool: { name: 'read_sensor', input: { sensor: 'wind' }, output: 'sensor wind: no answer after 3 tries', failed: true } },
      { think: 'It failed; the pressure tells something as well.', say: 'It does not answer. The pressure may tell.', tool: { name: 'read_sensor', input: { sensor: 'pressure' }, output: '1021 hPa, rising for 6 hours' } },
      { say: 'The anemometer is silent, but the pressure rises: a calm, clear, *cold* night. Cover them.' },
    ],
  },
  {
    prompt: 'Write that down, please.',
    answers: [
      { say: 'I write the note.', tool: { name: 'write_note', input: { path: 'notes/today.md', content: '# Tonight\n\n- frost around two, cover the seedlings\n- the anemometer does not answer: look at its cable\n' }, output: 'notes/today.md: written' } },
      { say: 'Noted, with the anemometer as a task for tomorrow.' },
    ],
  },
];

export const SUMMARY = 'The user asks about the seedlings and the night. Frost of about -1 °C is expected around two; the anemometer does not answer; the pressure rises. The advice was to cover the seedlings.';
