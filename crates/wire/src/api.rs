//! The types under `/api`: the server itself, its models, agents, tools, approvals and
//! tokens, and what it found at
//! its start.

mod agent;
mod approval;
mod audit;
mod blob;
mod context;
mod damage;
mod examine;
mod feed;
mod login;
mod model;
mod recovery;
mod relay;
mod remembered;
mod search;
mod server;
mod ticket;
mod token;
mod tool;
mod turn;

pub use agent::{
    AgentInfo, AgentModelInfo, AgentModelParams, AgentNameParams, AgentParams, AgentVersions,
    AgentVersionsParams, RemoveAgentParams,
};
pub use approval::{
    ApprovalInfo, ApprovalList, DecideParams, Decided, GrantInfo, RuleInfo, RuleParams,
};
pub use audit::{
    AuditHead, AuditPage, AuditParams, AuditProblem, AuditRecord, AuditVerdict, AuditVerifyParams,
};
pub use blob::BlobParams;
pub use context::{ContextInfo, ContextLayer, ContextMessages, ContextParams};
pub use damage::{BackupParams, BackupState, DamageList};
pub use examine::{
    CheckState, DoctorFinding, DoctorReport, FindingState, ModelCheck, TestLine, TestModelParams,
};
pub use feed::{FeedEncoder, FeedItem, FeedParams, FeedReset, ServerSnapshot, SessionSnapshot};
pub use login::{Brought, LoginLink, LoginLinkParams, LoginParams, Me};
pub use model::{
    LocalModelInfo, ModelChoice, ModelReason, ModelsAnswer, ModelsParams, ProviderAccess,
    ProviderInfo, WindowFrom, WindowInfo,
};
pub use recovery::{RecoveryInfo, WaitingTurn};
pub use relay::{
    AttachHostParams, BuiltInHost, PersonDoesParams, PersonSaysParams, RoomRowsParams,
    StudiesParams, StudyRowsParams,
};
pub use remembered::{
    AnswerProposalParams, EditRememberedParams, ForgottenInfo, ProposalAnswer, ProposalInfo,
    ProposalList, RememberedInfo, RememberedList, RememberedParams,
};
pub use search::{SearchHit, SearchParams, SearchResult};
pub use server::{MemoryInfo, ServerInfo, StoreInfo};
pub use ticket::CreatedTicket;
pub use token::{CreateTokenParams, CreatedToken, TokenInfo, TokenName, TokenParams, TokenScope};
pub use tool::{
    CallToolParams, OpenCallInfo, OpenCalls, RegisterToolParams, SettleParams, ToolInfo,
    ToolParams, ToolResult,
};
pub use turn::{TurnCancelled, TurnInfo, TurnProgress, TurnsParams};

/// The path of these methods.
pub const BASE_PATH: &str = "/api";
