/**
 * What secrets look like. The shapes of keys are those that their issuers document for scanners; where a name in front is
 * what tells a secret from other text, only the part behind it counts.
 *
 * A pattern must look at each character a bounded number of times: it runs over whatever a log holds.
 */

/** What was found. Own patterns have the names that they are given. */
export type SecretKind = 'private-key' | 'api-key' | 'jwt' | 'credential' | 'mail' | 'home';

/** Something to look for. */
export interface Pattern {
  /** What it is called in placeholders and in the report: letters, digits and dashes. */
  readonly kind: string;
  /** Its shape; where it has a group named `secret`, only this part of a match is replaced. */
  readonly pattern: RegExp;
}

/** Not in the middle of a word. */
const START = '(?<![A-Za-z0-9_])';

const API_KEYS = [
  'sk-(?:ant-|proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,400}', // Anthropic, OpenAI, DeepSeek, OpenRouter
  '(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,200}', // Stripe
  'whsec_[0-9A-Za-z+/=]{16,200}',
  'gh[pousr]_[A-Za-z0-9]{30,255}', // GitHub
  'github_pat_[A-Za-z0-9_]{22,255}',
  'gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_.-]{20,255}', // GitLab
  'xox[abeoprs]-[A-Za-z0-9-]{10,255}', // Slack
  'xapp-[A-Za-z0-9-]{10,255}',
  '(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])', // AWS
  'AIza[0-9A-Za-z_-]{35}', // Google
  'ya29\\.[0-9A-Za-z_-]{20,1000}',
  'npm_[A-Za-z0-9]{36}',
  'dckr_pat_[A-Za-z0-9_-]{20,100}', // Docker
  'pypi-[A-Za-z0-9_-]{50,400}',
  'hf_[A-Za-z0-9]{30,100}', // Hugging Face
  'gsk_[A-Za-z0-9]{40,100}', // Groq
  'xai-[A-Za-z0-9]{40,200}',
  'r8_[A-Za-z0-9]{30,100}', // Replicate
  'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}', // SendGrid
  'do[opr]_v1_[a-f0-9]{64}', // DigitalOcean
  '\\d{8,10}:AA[A-Za-z0-9_-]{33}', // Telegram
  'tvly-[A-Za-z0-9-]{20,100}',
  'dapi[a-f0-9]{32}', // Databricks
  'lin_api_[A-Za-z0-9]{30,100}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}', // Shopify
];

const NAMES = 'api[_-]?key|apikey|secret|secret[_-]?key|(?:secret[_-]?)?access[_-]?key|account[_-]?key|client[_-]?secret|access[_-]?token|auth[_-]?token|session[_-]?token|bearer[_-]?token|bot[_-]?token|refresh[_-]?token|private[_-]?key|passwd|password|passphrase';

/** Members whose text value is a secret whatever it looks like. */
export const SECRET_NAME = new RegExp(`^(?:[a-z0-9]+[_-]){0,4}(?:${NAMES}|authorization|x-api-key)$`, 'i');

/** The patterns by kind. */
export const PATTERNS: Readonly<Record<SecretKind, readonly RegExp[]>> = {
  'private-key': [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]{0,20000}-----END [A-Z ]{0,40}PRIVATE KEY-----|[A-Za-z0-9+/=\s\\]{0,20000})/],
  'api-key': [new RegExp(`${START}(?:${API_KEYS.join('|')})`)],
  jwt: [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,16000}\.[A-Za-z0-9_-]{0,4000}/],
  credential: [
    /(?<![A-Za-z0-9])(?:Bearer|Basic)\s{1,4}(?<secret>[A-Za-z0-9._~+/=-]{16,2000})/i,
    /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'\\]{1,200}:(?<secret>[^\s/@"'\\]{3,200})@/i,
    new RegExp(`(?<![A-Za-z0-9])(?:${NAMES})\\\\?["']?\\s{0,4}[:=]\\s{0,4}\\\\?["']?(?<secret>[^\\s"'\\\\,;<>(){}[\\]$]{8,500})`, 'i'),
    // An environment variable; in small letters a token is more often a word of a language.
    /(?<=[A-Z0-9]_)TOKEN\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?<secret>[^\s"'\\,;<>(){}[\]$]{8,500})/,
  ],
  mail: [/(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/],
  home: [
    /(?<![A-Za-z0-9_.-])(?:\/(?:home|Users|export\/home|var\/home)\/|[A-Za-z]:(?:\\{1,4}|\/)Users(?:\\{1,4}|\/))(?!(?:Shared|Public|linuxbrew|redacted-)(?![A-Za-z0-9]))(?<secret>[^\\/\s"'`<>|:*?,;()[\]{}]{1,64})/,
    /(?<![A-Za-z0-9])-(?:home|Users)-(?!redacted-)(?<secret>[A-Za-z0-9_]{1,64})(?=-)/,
  ],
};

/** What a line must hold, as it is stored, so that any of the patterns may match in it. */
export const HINT = new RegExp(
  ['@', 'PRIVATE KEY', 'sk-', '[srp]k_', 'whsec', 'gh[pousr]_', 'github_pat', 'gl[a-z]{2,4}-', 'xox', 'xapp', 'A[KSBC][IC]A', 'AIza', 'ya29', 'npm_', 'dckr_', '_TOKEN', 'pypi-', 'hf_', 'xai-', 'r8_', 'SG\\.', '_v1_', ':AA', 'tvly', 'dapi', 'lin_api', 'shp', 'eyJ', 'Bearer', 'Basic', '://', 'home[/\\\\-]', 'Users', 'authorization', '\\\\u00', NAMES].join('|'),
  'i',
);
