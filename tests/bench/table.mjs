// The table that the bench prints.

/** A number in three digits. */
export function digits(value) {
  if (value === null || value === undefined) return '';
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

const times = (value) => (value === null || value === undefined ? '' : `${digits(value)}×`);

function goal({ goal, atMost, ratio, ours }) {
  if (goal === null || (ratio === null && !atMost)) return '';
  if (atMost) return `≤ ${goal} ${ours <= goal ? 'ok' : 'no'}`;
  return `${digits(goal)}× ${ratio >= goal ? 'ok' : `${Math.round((100 * ratio) / goal)}%`}`;
}

const COLUMNS = [
  ['work', (row) => row.work],
  ['unit', (row) => row.unit],
  ['ours', (row) => digits(row.ours)],
  ['peer', (row) => digits(row.peer)],
  ['seed', (row) => digits(row.seed)],
  ['pi', (row) => digits(row.pi)],
  ['peer/ours', (row) => times(row.ratio)],
  ['quartiles', (row) => (row.spread ? `${digits(row.spread[0])}–${digits(row.spread[1])}` : '')],
  ['goal', goal],
  ['growth ours', (row) => times(row.growth?.ours)],
  ['peer', (row) => times(row.growth?.peer)],
];

/** Rows as aligned text. */
export function table(rows) {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))];
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  const lines = cells.map((line) => line.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  '));
  lines.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('  '));
  return lines.join('\n');
}
