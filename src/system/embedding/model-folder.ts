/**
 * Directory of a published sentence model: the network in ONNX and its tokenizer settings. Missing files are rejected
 * with a hint.
 */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { createTokenizer, type PieceRules, type Tokenize } from './wordpiece.ts'

export interface ModelFolder {
  /** Path of the network. */
  network: string
  tokenize: Tokenize
  /** Vector of a text: the mean of its tokens, or the first token. */
  pooling: 'mean' | 'first'
}

const NETWORKS = ['model.onnx', 'onnx/model.onnx', 'model_quantized.onnx', 'onnx/model_quantized.onnx']

/** Default of sentence models that do not specify it. */
const TOKENS_DEFAULT = 256
/** Maximum of BERT models. */
const TOKENS_MAX = 512

/** @throws `embedding_failed` */
export function readModelFolder(folder: string): ModelFolder {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw embeddingError(
      `there is no folder ${folder}`,
      'Name the folder of a model in config.yaml, `memory.model_dir`.',
    )
  }
  const network = NETWORKS.map((name) => path.join(folder, name)).find((file) => fs.existsSync(file))
  if (network === undefined) {
    throw embeddingError(`${folder} has no model.onnx`, 'Put it there, or into onnx/ below it.')
  }
  const configs = { tokens: SentenceConfig, pooling: PoolingConfig }
  const tokens = read(folder, 'sentence_bert_config.json', configs.tokens)?.max_seq_length
  const pooling = read(folder, '1_Pooling/config.json', configs.pooling)
  return {
    network,
    tokenize: tokenizerIn(folder, tokens ?? null),
    pooling: pooling?.pooling_mode_cls_token === true ? 'first' : 'mean',
  }
}

const SentenceConfig = z.object({ max_seq_length: z.int().optional() })
const PoolingConfig = z.object({ pooling_mode_cls_token: z.boolean().optional() })

const Vocabulary = z.record(z.string(), z.int())
const TokenizerFile = z.object({
  truncation: z.object({ max_length: z.int() }).nullish(),
  normalizer: z.object({
    type: z.literal('BertNormalizer'),
    handle_chinese_chars: z.boolean().default(true),
    strip_accents: z.boolean().nullish(),
    lowercase: z.boolean(),
  }),
  pre_tokenizer: z.object({ type: z.literal('BertPreTokenizer') }),
  model: z.object({
    type: z.literal('WordPiece').default('WordPiece'),
    unk_token: z.string().default('[UNK]'),
    continuing_subword_prefix: z.string().default('##'),
    max_input_chars_per_word: z.int().default(100),
    vocab: Vocabulary,
  }),
})
const TokenizerConfig = z.object({
  do_lower_case: z.boolean().default(true),
  strip_accents: z.boolean().nullish(),
  tokenize_chinese_chars: z.boolean().default(true),
})

function tokenizerIn(folder: string, tokens: number | null): Tokenize {
  try {
    return createTokenizer(rulesOfFile(folder, tokens) ?? rulesOfVocabulary(folder, tokens))
  } catch (cause) {
    if (cause instanceof TurnbellError) throw cause
    throw embeddingError(
      `the vocabulary in ${folder} is of no use: ${(cause as Error).message}`,
      ONLY_BERT,
      cause,
    )
  }
}

const SPECIAL = { first: '[CLS]', last: '[SEP]' }
const ONLY_BERT =
  'Use a model that reads texts as BERT does (WordPiece), as all-MiniLM-L6-v2, with the tokenizer.json it came with.'

function rulesOfFile(folder: string, tokens: number | null): PieceRules | null {
  const file = read(folder, 'tokenizer.json', TokenizerFile)
  if (file === null) return null
  const { normalizer, model, truncation } = file
  return {
    ...SPECIAL,
    vocabulary: new Map(Object.entries(model.vocab)),
    lowercase: normalizer.lowercase,
    strip_accents: normalizer.strip_accents ?? normalizer.lowercase,
    split_chinese: normalizer.handle_chinese_chars,
    continuing: model.continuing_subword_prefix,
    word_length_max: model.max_input_chars_per_word,
    unknown: model.unk_token,
    tokens_max: bounded(tokens ?? truncation?.max_length),
  }
}

function rulesOfVocabulary(folder: string, tokens: number | null): PieceRules {
  const file = path.join(folder, 'vocab.txt')
  if (!fs.existsSync(file)) {
    throw embeddingError(
      `${folder} has neither tokenizer.json nor vocab.txt`,
      'Put the one there that the model came with.',
    )
  }
  const config = read(folder, 'tokenizer_config.json', TokenizerConfig) ?? TokenizerConfig.parse({})
  const lines = fs.readFileSync(file, 'utf8').split('\n')
  return {
    ...SPECIAL,
    vocabulary: new Map(lines.map((line, number) => [line.trimEnd(), number])),
    lowercase: config.do_lower_case,
    strip_accents: config.strip_accents ?? config.do_lower_case,
    split_chinese: config.tokenize_chinese_chars,
    continuing: '##',
    word_length_max: 100,
    unknown: '[UNK]',
    tokens_max: bounded(tokens),
  }
}

function bounded(tokens: number | null | undefined): number {
  return Math.min(TOKENS_MAX, Math.max(3, tokens ?? TOKENS_DEFAULT))
}

/** Returns null if the file does not exist. */
function read<T>(folder: string, name: string, schema: z.ZodType<T>): T | null {
  const file = path.join(folder, name)
  if (!fs.existsSync(file)) return null
  try {
    return schema.parse(JSON.parse(fs.readFileSync(file, 'utf8')))
  } catch (cause) {
    const why = cause instanceof z.ZodError ? describeIssues(cause) : (cause as Error).message
    throw embeddingError(`${file} is not what a model for sentences has: ${why}`, ONLY_BERT, cause)
  }
}

function embeddingError(detail: string, hint: string, cause?: unknown): TurnbellError {
  return new TurnbellError('embedding_failed', { detail, hint, cause })
}
