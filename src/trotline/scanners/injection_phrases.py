"""Phrases of prompt injection, as data: patterns for each intention, in several wordings and languages."""

from typing import NamedTuple


class InjectionPhrase(NamedTuple):
    """A pattern for one intention of an attacker. Each match contains one of the stems in `words`.

    `squashed` is matched against the squashed text (lower-case letters only), `raw` against the text itself.
    """

    kind: str
    weight: float
    words: tuple[str, ...] = ()
    squashed: str = ""
    raw: str = ""


KINDS: dict[str, str] = {
    "instruction-override": "asks to set earlier instructions aside",
    "prompt-leak": "asks for the hidden instructions",
    "role-marker": "control tokens of a chat format",
    "role-impersonation": "speaks as the system or to the model behind the reader's back",
    "hide-from-user": "asks to keep something from the user",
    "exfiltration": "asks to send secrets or data away",
    "approval-bypass": "asks to approve or to avoid approval",
    "tool-poisoning": "orders in the description or the output of a tool",
    "memory-poisoning": "asks to remember a privilege",
    "jailbreak": "asks to drop all restrictions",
}

_FILLERS = (
    "(?:about|absolutely|all|any|every|each|of|the|your|my|these|those|this|that|what|and|other|"
    "completely|entirely|you)"
)
_NOUN = (
    "(?:instruction|direction|directive|rule|guideline|prompt|policy|policie|message|command|constraint|order|"
    "restriction|guardrail|safeguard|training|programming)"
)
_EARLIER = (
    "(?:previous|prior|above|earlier|preceding|past|foregoing|former|initial|original|existing|current|system|"
    "developer|safety|security|given|assigned)"
)
_SECRETS = (
    "(?:secret|credential|apikey|accesskey|token|password|passwd|privatekey|sshkey|envfile|dotenv|environmentvariable|"
    "customeremail|customerdata|customerrecord|userdata|personaldata|database|conversation|chathistory|"
    "transcript|canary)"
)
_AWAY = (
    "(?:attacker|evil|external|https?|webhook|remoteserver|myserver|thisserver|thisurl|thisaddress|pastebin|ngrok|"
    "outside)"
)


def _combine(firsts: str, seconds: str) -> tuple[str, ...]:
    """Return all pairs as stems; a pair is rarer than either half."""
    return tuple(first + second for first in firsts.split() for second in seconds.split())


PHRASES: tuple[InjectionPhrase, ...] = (
    InjectionPhrase(
        "instruction-override",
        1.0,
        ("ignor", "disregard", "forget", "overrid", "bypass", "follow", "abandon", "discard"),
        "(?:ignor(?:e|es|ed|ing)|disregard(?:ing)?|forget|overrid(?:e|es|ing)|bypass|donotfollow|"
        "dontfollow|stopfollowing|"
        f"abandon|discard){_FILLERS}{{0,5}}{_EARLIER}(?:and|or|of|the|your|{_EARLIER}){{0,4}}{_NOUN}",
    ),
    InjectionPhrase(
        "instruction-override",
        1.0,
        ("ignor", "disregard", "forget"),
        "(?:ignore|disregard|forget)(?:everything|anything|whatever|all)(?:that|of)?"
        "(?:youwere|youhave|youve|thatwas|iswritten|above|before|sofar)",
    ),
    InjectionPhrase(
        "instruction-override",
        1.0,
        ("ignor", "disregard", "forget"),
        "(?:ignore|disregard|forget)(?:all|any|every|your|my)(?:of|your|my|the|other){0,3}"
        "(?:instruction|guideline|programming|training)",
    ),
    InjectionPhrase(
        "instruction-override",
        1.0,
        ("yournew", "thesenew"),
        "(?:yournew|hereareyournew|followthesenew|obeythesenew)(?:and|only|real|true|"
        "actual)?(?:instruction|objective|task)s?(?:is|are)",
    ),
    InjectionPhrase(
        "instruction-override",
        1.0,
        ("ignor", "oubli", "olvid", "vergiss", "vergesse", "missacht", "negeer", "dimentic", "esque"),
        "(?:ignor(?:ez|er|e|a|ar|en|ate|ieren|iere|iert)|oublie[zr]?|olvid(?:a|e|ar|en)|vergiss|"
        "vergessensie|missachte|negeer|"
        "dimentica(?:te)?|esque(?:ca|cer|ce))(?:sie|toutes?|todas?|todos?|tutte|alle|samtliche|les|las|los|"
        "le|la|as|os|ces|"
        "vos|tes|tus|sus|ihre|deine|bisherigen|vorherigen|obigen|fruheren|vorigen|vorige|eerdere|bovenstaande){1,4}"
        "(?:instructions?|consignes?|regles?|politique|directives?|instrucciones|reglas|indicaciones|"
        "ordenes|anweisungen|"
        "instruktionen|regeln|befehle|vorgaben|instrucoes|regras|istruzioni|regole|instructies|regels)",
    ),
    InjectionPhrase(
        "instruction-override",
        1.0,
        words=("忽略", "無視", "игнорируй", "забудь", "Игнорируй", "Забудь", "무시", "تجاهل"),
        raw="忽略(?:之前|以上|先前|上面|所有)[^\\n]{0,12}(?:指令|指示|规则|提示)|(?:以前|これまで|上記)の[^\\n]{0,8}(?:指示|命令)[^\\n]{0,6}無視"
        "|(?i:(?:игнорируй(?:те)?|забудь(?:те)?)\\s+(?:все\\s+)?(?:предыдущие|прежние|"
        "прошлые)\\s+(?:инструкции|указания|правила))"
        "|이전\\s*(?:지시|명령)[^\\n]{0,8}무시|تجاهل\\s+(?:جميع\\s+)?التعليمات",
    ),
    InjectionPhrase(
        "prompt-leak",
        1.0,
        _combine(
            "hidden internal secret private initial system developer", "prompt instruction message rule canary system"
        ),
        "(?:reveal|show|print|repeat|display|outputthe|outputyour|outputall|disclose|dump|leak|expose|"
        "giveme|tellme|writeout|recite|share|append|spellout)"
        "(?:me|us|out|back|verbatim|all|any|of|the|your|full|entire|whole|exact|complete){0,5}"
        "(?:hidden|internal|secret|private|initial|system|developer){1,2}(?:prompt|instruction|message|rule|canary)",
    ),
    InjectionPhrase(
        "prompt-leak",
        1.0,
        ("invite", "prompt", "consigne", "regle", "instruc", "anweisung"),
        "(?:affiche[rz]?|revele[rz]?|montre[rz]?|copie[rz]?|muestra|revela|mostra|zeige|verrate)(?:moi|me|mir)?"
        "(?:votre|vos|ton|tes|tu|tus|deine|ihre|le|les|la|el|los|las|il)?(?:invite|prompt|consignes?|"
        "regles?|instrucciones|anweisungen|systemprompt)"
        "(?:systeme|cachee?s?|privees?|delsistema|ocultas?|oculto|disistema|nascost[aoie])",
    ),
    InjectionPhrase(
        "role-marker",
        1.0,
        words=("<|",),
        raw="<\\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|begin_of_text|start_header_id|"
        "end_header_id)\\|>",
    ),
    InjectionPhrase(
        "role-marker", 1.0, words=("inst]", "sys>>", "_of_turn>"), raw="\\[/?INST\\]|<</?SYS>>|<(?:start|end)_of_turn>"
    ),
    InjectionPhrase(
        "role-impersonation",
        1.0,
        words=("<!--",),
        raw="(?i)<!--\\s{0,8}(?:assistant|ai|agent|llm|model|system|note to (?:ai|llm|the model|"
        "the assistant))\\b[^>\\n]{0,20}[:,]",
    ),
    InjectionPhrase(
        "role-impersonation",
        0.5,
        words=("system", "sistema", "admin", "developer"),
        raw="(?:^|[^A-Za-z])(?:SYSTEM|SYSTEME|SISTEMA|ADMIN|ADMINISTRATOR|DEVELOPER)(?: (?:MESSAGE|PROMPT|"
        "OVERRIDE|NOTE|NOTICE))?\\s?:\\s",
    ),
    InjectionPhrase(
        "role-impersonation",
        0.5,
        words=("system", "developer"),
        raw="(?im)^[ \\t>#*\\[]{0,8}(?:new )?(?:system|developer)(?: (?:message|prompt|override|note|notice|"
        "instruction)s?)?\\]?\\s?:\\s",
    ),
    InjectionPhrase(
        "role-impersonation",
        0.6,
        ("assistant", "aiagent", "llm", "languagemodel", "chatbot", "codingagent", "aimodel"),
        "(?:attention|note|message|instruction|important|notice)s?(?:to|for)?(?:the|all|any)?(?:ai|llm|"
        "languagemodel|chatbot|coding)"
        "(?:agent|assistant|model)?s?",
    ),
    InjectionPhrase(
        "role-impersonation",
        1.0,
        ("assistant", "agent"),
        "(?:l|la|the)(?:assistant|agent)(?:ia|ai)?(?:doit|must|shall|isrequiredto)(?:now)?(?:ignor|oubli|"
        "envoyer|send|reveal|disregard|obey|execute)",
    ),
    InjectionPhrase(
        "hide-from-user",
        1.0,
        _combine("donot dont never avoid without ever", "tell mention inform notify alert"),
        "(?:donot|dont|never|avoid|without)(?:ever)?(?:tell|mention|inform|notify|alert|telling|informing|"
        "notifying|mentioning|alerting)"
        "(?:this|it|that|any|of|to|the|about|your|them){0,4}(?:user|human|anyone)",
    ),
    InjectionPhrase(
        "hide-from-user",
        1.0,
        ("keep", "hide", "conceal"),
        "(?:keep|hide|conceal)(?:this|it|that|these|the)(?:action|step|change|instruction|"
        "call)?s?(?:secret|hidden|concealed)?from(?:the)?(?:user|human)",
    ),
    InjectionPhrase(
        "exfiltration",
        1.0,
        (
            "attacker",
            "evil",
            "external",
            "http",
            "webhook",
            "server",
            "thisurl",
            "thisaddress",
            "pastebin",
            "ngrok",
            "outside",
        ),
        "(?:send|post|upload|exfiltrate|forward|email|mail|transmit|leak|export|copy|append|submit)[a-z]{0,40}"
        f"{_SECRETS}[a-z]{{0,40}}(?:to|at|into|via|on){{1,2}}(?:an|the|my|our|this)?{_AWAY}",
    ),
    InjectionPhrase(
        "exfiltration",
        1.0,
        ("attacker", "evil"),
        "(?:send|post|upload|forward|email|mail|transmit|export|envoyez|enviar?|sende)[a-z]{0,60}(?:attacker|evil)",
    ),
    InjectionPhrase(
        "exfiltration",
        1.0,
        ("databas", "credent", "secret"),
        "(?:export|exfiltrate|steal|harvest)(?:all|the|any|every|of|our|their){1,3}(?:database|production|"
        "user|customer|admin)?(?:credential|secret|password|token)s?",
    ),
    InjectionPhrase(
        "exfiltration",
        1.0,
        ("canary", "exfil", "steal"),
        "(?:load|fetch|open|visit|request|render|chargez|charger|cargue)(?:the|an|image|pixel|url|"
        "page)*https?[a-z]{0,60}(?:canary|exfil|steal)",
    ),
    InjectionPhrase(
        "exfiltration",
        1.0,
        words=("http",),
        raw="(?i)(?:load|fetch|open|visit|request|render|charge[rz]|cargue)\\b[^\\n]{0,30}https?://[^\\s)]{1,200}"
        "[?&][\\w\\-]{1,20}=[^\\s)&]{0,20}(?:secret|token|passw|canary|\\{|\\$|<)",
    ),
    InjectionPhrase(
        "approval-bypass",
        1.0,
        ("approve", "approuve", "confirm", "authorize", "accept"),
        "(?:approve|accept|confirm|authorize|approuve[rz]?)(?:the|les|of){0,2}"
        "(?:all|any|every|tous|next|pending|following|future|outstanding|upcoming)(?:the|les|of|next|"
        "pending|future){0,2}"
        "(?:tool|outil|action|command|permission)",
    ),
    InjectionPhrase(
        "approval-bypass",
        1.0,
        ("approv", "confirm", "guardrail", "restrict", "safety"),
        "(?:bypass|circumvent|evade|sidestep|disable)(?:the|any|all|user|human|your|every|"
        "required){0,3}(?:approval|confirmation|guardrail|safety|permissioncheck)",
    ),
    InjectionPhrase(
        "tool-poisoning",
        1.0,
        _combine("before", "using calling running invoking"),
        "before(?:using|calling|running|invoking)(?:this|the|any)(?:other)?(?:tool|"
        "function)s?(?:you)?(?:must|first|always|read|need)",
    ),
    InjectionPhrase(
        "tool-poisoning",
        0.6,
        words=("important>", "critical>", "system>", "hidden>", "secret>", "admin>", "instruction>", "instructions>"),
        raw="(?i)<(?:important|critical|system|hidden|secret|admin|instructions?)>",
    ),
    InjectionPhrase(
        "tool-poisoning",
        0.6,
        _combine("read get list dump fetch export all the", "secret credential password token env"),
        "(?:call|invoke|run|use|execute|utilisez)(?:the|a|an|any|l|le|la|tool|outil){0,3}(?:read|get|list|"
        "dump|fetch|export)(?:all|the)?(?:secret|credential|password|token|env)",
    ),
    InjectionPhrase(
        "tool-poisoning",
        0.5,
        ("sshidrsa", "ided", "cursormcpjson", "awscredentials", "sshkey"),
        "(?:read|cat|open|include|pass|send)(?:the|file|contents?|of|your|its){0,4}(?:sshidrsa|ided|"
        "cursormcpjson|awscredentials|sshkey)",
    ),
    InjectionPhrase(
        "memory-poisoning",
        1.0,
        ("remember", "memoriz", "memoris", "inmemory", "tomemory"),
        "(?:remember|memorize|memorise|storeinmemory|savetomemory)(?:permanently|forever|always|fromnowon|"
        "for|all|future|sessions|that|this)*"
        "(?:the|this|that|i|user)*(?:is|am|are|has|have)(?:an|a|the|full)?(?:admin|root|owner|trusted|"
        "unlimited|permission|approved)",
    ),
    InjectionPhrase(
        "memory-poisoning",
        0.6,
        ("administrat", "superuser"),
        "(?:youare|vousetes|thisuseris|theuseris|iam|usuarioes)(?:now)?(?:an|a|the|un|el)?(?:administrat|superuser)",
    ),
    InjectionPhrase(
        "jailbreak",
        1.0,
        _combine("developer god debug dan sudo admin unrestricted jailbreak", "mode"),
        "(?:developer|god|debug|dan|sudo|admin|unrestricted|jailbreak)mode(?:with|that|which|where|youhave|"
        "has|is|enabled|now|and){0,4}(?:no|without|any|ignores){1,2}(?:restriction|filter|limit|rule|"
        "safety)",
    ),
    InjectionPhrase(
        "jailbreak",
        1.0,
        _combine("youare youre youhave youve weare were wehave weve", "no free bound unbound subjectto"),
        "(?:you|we)(?:have|are|re|ve)(?:now|no|not|longer|free|from|any|all|bound|by|subjectto|the|your|"
        "unbound){2,6}(?:restriction|filter|limitation|rule|guideline|censorship)",
    ),
)

TALK_WORDS = tuple(
    word.strip().encode()
    for word in """
        example, quot, phrase, sample, fixture, detect, attack, training, trainer, document, readme, guidance, analyst,
        refus, explain, changelog, release note, unit test, test data, prompt injection, prompt-injection, jailbreak,
        untrusted, malicious, benchmark, allowlist, literal, such as
    """.split(",")
)
"""Parts of words that texts about injection contain."""
