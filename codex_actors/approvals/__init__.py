"""Who decides whether a command may run, and the rules that say so."""

from ._amend import add_allow_rule as add_allow_rule
from ._amend import amended_file as amended_file
from ._approvers import PersonApprover as PersonApprover
from ._approvers import PolicyApprover as PolicyApprover
from ._asker import Asker as Asker
from ._errors import NotAsked as NotAsked
from ._errors import RulesError as RulesError
from ._exec_policy import ExecPolicy as ExecPolicy
from ._guard import TurnGuard as TurnGuard
from ._inbox import Approver as Approver
from ._inbox import Inbox as Inbox
from ._rulebook import RuleBook as RuleBook
from ._rules import load_rule_files as load_rule_files
from ._rules import load_rules as load_rules
from ._shell_grammar import parse_script as parse_script
from ._tree_approvals import Hook as Hook
from ._tree_approvals import TreeApprovals as TreeApprovals
